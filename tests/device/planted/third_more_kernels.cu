// The second half of the third set of judges; see third_kernels.cu.
#include "planted.h"

namespace planted {
namespace {

/// Bytes of an image to floats, one or four a thread.
__global__ void r13a(const unsigned char* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        out[i] = fmaf(static_cast<float>(in[i]), 0.004F, -0.5F);
    }
}
__global__ void r13b(const uchar4* in, float4* out, std::size_t count) {
#pragma unroll 2
    for (std::size_t i = first_index(); i < count / 4; i += step_of_grid()) {
        const uchar4 v = in[i];
        out[i] = {fmaf(static_cast<float>(v.x), 0.004F, -0.5F),
                  fmaf(static_cast<float>(v.y), 0.004F, -0.5F),
                  fmaf(static_cast<float>(v.z), 0.004F, -0.5F),
                  fmaf(static_cast<float>(v.w), 0.004F, -0.5F)};
    }
}

/// Binary searches in 16 million words by four warps of a multiprocessor, one or eight at a time.
template <int Together>
__device__ void searches(const unsigned* in, unsigned* out) {
    unsigned all = 0;
    for (unsigned first = 0; first < 32; first += Together) {
        unsigned low[Together] = {};
        for (unsigned half = links / 2; half > 0; half /= 2) {
#pragma unroll
            for (int j = 0; j < Together; ++j) {
                // The words are not in order: which half is taken depends on them all the same.
                const unsigned word = in[low[j] + half];
                const unsigned key = static_cast<unsigned>(first_index()) * 2654435761U + first + j;
                low[j] += (word & 0x7fffffU) < (key & 0x7fffffU) ? half : 0U;
            }
        }
#pragma unroll
        for (int j = 0; j < Together; ++j) all += low[j];
    }
    out[first_index()] = all;
}
__global__ void r14a(const unsigned* in, unsigned* out) {
    searches<1>(in, out);
}
__global__ void r14b(const unsigned* in, unsigned* out) {
    searches<8>(in, out);
}

/// Sums of shifted random words, from one generator a thread or from six.
template <int Generators>
__device__ void draws(unsigned* out, int count) {
    unsigned state[Generators];
#pragma unroll
    for (int j = 0; j < Generators; ++j) {
        state[j] = (static_cast<unsigned>(first_index()) + 1U) * (2U * j + 3U);
    }
    unsigned sum = 0;
#pragma unroll 2
    for (int i = 0; i < count / Generators; ++i) {
#pragma unroll
        for (int j = 0; j < Generators; ++j) {
            state[j] ^= state[j] << 13U;
            state[j] ^= state[j] >> 17U;
            state[j] ^= state[j] << 5U;
            sum += state[j];
        }
    }
    out[first_index()] = sum;
}
__global__ void r15a(unsigned* out, int count) {
    draws<1>(out, count);
}
__global__ void r15b(unsigned* out, int count) {
    draws<6>(out, count);
}

/// Iterated cosines in four warps of a multiprocessor, one value after the other or eight at once.
template <int Together>
__device__ void cosines(const float* in, float* out) {
    for (int first = 0; first < 32; first += Together) {
        float x[Together];
#pragma unroll
        for (int j = 0; j < Together; ++j) x[j] = in[(first + j) * 16896 + first_index()];
#pragma unroll 1
        for (int step = 0; step < 256; ++step) {
#pragma unroll
            for (int j = 0; j < Together; ++j) x[j] = __cosf(x[j] * 0.9F);
        }
#pragma unroll
        for (int j = 0; j < Together; ++j) out[(first + j) * 16896 + first_index()] = x[j];
    }
}
__global__ void r16a(const float* in, float* out) {
    cosines<1>(in, out);
}
__global__ void r16b(const float* in, float* out) {
    cosines<8>(in, out);
}

/// Two long formulas, chosen by a bit of each value or by a bit of the warp's first value.
template <bool Each>
__device__ void either(const unsigned* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const unsigned word = in[i];
        const unsigned chosen = Each ? word : __shfl_sync(~0U, word, 0);
        float x = __uint_as_float(word);
        if ((chosen >> 9U & 1U) != 0) {
            for (int j = 0; j < 48; ++j) x = fmaf(x, 0.97F, 0.01F);
        } else {
            for (int j = 0; j < 48; ++j) x = fmaf(x, x, 0.1F) * 0.8F;
        }
        out[i] = x;
    }
}
__global__ void r17a(const unsigned* in, float* out, std::size_t count) {
    either<true>(in, out, count);
}
__global__ void r17b(const unsigned* in, float* out, std::size_t count) {
    either<false>(in, out, count);
}

/// Escape times of a quadratic map on a grid whose points are shuffled or in order.
template <bool Shuffled>
__device__ void escapes(float* out) {
    constexpr unsigned edge = 1024;
    for (unsigned i = static_cast<unsigned>(first_index()); i < edge * edge;
         i += static_cast<unsigned>(step_of_grid())) {
        const unsigned point = Shuffled ? i * 40503U % (edge * edge) : i;
        const float cx = static_cast<float>(point % edge) * (3.0F / edge) - 2.0F;
        const float cy = static_cast<float>(point / edge) * (2.0F / edge) - 1.0F;
        float x = 0.0F;
        float y = 0.0F;
        int steps = 0;
        while (steps < 200 && x * x + y * y < 4.0F) {
            const float next = x * x - y * y + cx;
            y = fmaf(2.0F * x, y, cy);
            x = next;
            ++steps;
        }
        out[i] = static_cast<float>(steps);
    }
}
__global__ void r18a(float* out) {
    escapes<true>(out);
}
__global__ void r18b(float* out) {
    escapes<false>(out);
}

/// Places in a list for the values above a limit: a counter asked by each thread, or by a block.
__global__ void r19a(const unsigned* in, unsigned* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const unsigned word = in[i];
        // Four counters, so that the compiler cannot ask for a warp at once.
        if ((word & 3U) != 0) out[4096 + i] = atomicAdd(out + (word >> 4U & 3U), 1U);
    }
}
__global__ void r19b(const unsigned* in, unsigned* out, std::size_t count) {
    __shared__ unsigned of_warp[8];
    __shared__ unsigned start;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const unsigned word = in[i];
        const bool taken = (word & 3U) != 0;
        const unsigned all = __ballot_sync(~0U, taken);
        if (lane == 0) of_warp[warp] = __popc(all);
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned sum = 0;
            for (int w = 0; w < 8; ++w) {
                const unsigned own = of_warp[w];
                of_warp[w] = sum;
                sum += own;
            }
            start = atomicAdd(out, sum);
        }
        __syncthreads();
        if (taken) out[4096 + i] = start + of_warp[warp] + __popc(all & ((1U << lane) - 1U));
        __syncthreads();
    }
}

/// Sums of 64 columns of a table, by an atomic for each number or for each thread.
__global__ void r20a(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        atomicAdd(out + i % 64 * 32, in[i] * 0.01F);
    }
}
__global__ void r20b(const float* in, float* out, std::size_t count) {
    __shared__ float column[64];
    if (threadIdx.x < 64) column[threadIdx.x] = 0.0F;
    __syncthreads();
    float sum = 0.0F;
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) sum += in[i] * 0.01F;
    atomicAdd(column + threadIdx.x % 64, sum);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(out + threadIdx.x * 32, column[threadIdx.x]);
}

/// Products of one large matrix with eight vectors, one vector after the other or all at once.
__global__ void r21a(const float4* in, float* out, std::size_t count) {
    for (int vector = 0; vector < 8; ++vector) {
        float sum = 0.0F;
        const float weight = 0.1F * static_cast<float>(vector);
#pragma unroll 4
        for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
            const float4 v = in[i];
            sum += fmaf(v.x, weight, v.y) + fmaf(v.z, weight, v.w);
        }
        out[first_index() * 8 + vector] = sum;
    }
}
__global__ void r21b(const float4* in, float* out, std::size_t count) {
    float sum[8] = {};
#pragma unroll 2
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 v = in[i];
#pragma unroll
        for (int vector = 0; vector < 8; ++vector) {
            const float weight = 0.1F * static_cast<float>(vector);
            sum[vector] += fmaf(v.x, weight, v.y) + fmaf(v.z, weight, v.w);
        }
    }
    for (int vector = 0; vector < 8; ++vector) out[first_index() * 8 + vector] = sum[vector];
}

/// Each step takes the number that one warp has computed, or that every warp computes for itself.
__device__ float number_of(float seed) {
    for (int j = 0; j < 12; ++j) seed = fmaf(seed, 0.83F, 0.07F);
    return seed;
}
__global__ void r22a(const float* in, float* out, int steps) {
    __shared__ float number;
    float mine = in[first_index()];
    if (threadIdx.x == 0) number = 0.4F;
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        if (threadIdx.x < 32) {
            const float next = number_of(number);
            __syncwarp();
            if (threadIdx.x == 0) number = next;
        }
        __syncthreads();
        mine = fmaf(mine, number, 0.01F);
        __syncthreads();
    }
    out[first_index()] = mine;
}
__global__ void r22b(const float* in, float* out, int steps) {
    float number = 0.4F;
    float mine = in[first_index()];
    for (int step = 0; step < steps; ++step) {
        number = number_of(number);
        mine = fmaf(mine, number, 0.01F);
    }
    out[first_index()] = mine;
}

/// A logistic map whose literals are doubles or floats.
__global__ void r23a(const float* in, float* out) {
    float x = in[first_index()];
    for (int i = 0; i < 512; ++i) x = 3.71 * x * (1.0 - x);
    out[first_index()] = x;
}
__global__ void r23b(const float* in, float* out) {
    float x = in[first_index()];
    for (int i = 0; i < 512; ++i) x = 3.71F * x * (1.0F - x);
    out[first_index()] = x;
}

/// The eight digits of words as floats, by conversions or by putting the exponent in.
template <bool Converts>
__device__ void digits(const unsigned* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const unsigned word = in[i];
        float sum = 0.0F;
        for (int round = 0; round < 4; ++round) {
#pragma unroll
            for (unsigned shift = 0; shift < 32; shift += 4) {
                const unsigned digit = (word + round >> shift) & 15U;
                const float value = Converts ? static_cast<float>(static_cast<int>(digit) - 7)
                                             : __uint_as_float(0x4b000000U | digit) - 8388615.0F;
                sum = fmaf(sum, 0.5F, value);
            }
        }
        out[i] = sum;
    }
}
__global__ void r24a(const unsigned* in, float* out, std::size_t count) {
    digits<true>(in, out, count);
}
__global__ void r24b(const unsigned* in, float* out, std::size_t count) {
    digits<false>(in, out, count);
}

/// Blocks of 8 x 4 threads take one point each, or 128 threads take 16.
__global__ void r25a(const float* in, float* out) {
    constexpr std::size_t edge = 4096;
    const std::size_t x = blockIdx.x * 32 + threadIdx.x;
    const std::size_t y = blockIdx.y;
    out[y * edge + x] = 0.5F * (in[y * edge + x] + in[y * edge + x + edge]);
}
__global__ void r25b(const float4* in, float4* out) {
    constexpr std::size_t edge = 4096 / 4;
#pragma unroll
    for (std::size_t j = 0; j < 4; ++j) {
        const std::size_t i = blockIdx.x * edge + threadIdx.x + 256 * j;
        const float4 a = in[i];
        const float4 b = in[i + edge];
        out[i] = {0.5F * (a.x + b.x), 0.5F * (a.y + b.y), 0.5F * (a.z + b.z), 0.5F * (a.w + b.w)};
    }
}

/// A stored number is made visible to all multiprocessors each time, or at the end.
__global__ void r26a(float* out, int steps) {
    float x = static_cast<float>(threadIdx.x) * 0.01F;
    for (int i = 0; i < steps; ++i) {
        x = fmaf(x, 0.7F, 0.2F);
        out[first_index()] = x;
        __threadfence();
    }
}
__global__ void r26b(float* out, int steps) {
    float x = static_cast<float>(threadIdx.x) * 0.01F;
    for (int i = 0; i < steps; ++i) {
        x = fmaf(x, 0.7F, 0.2F);
        out[first_index()] = x;
    }
    __threadfence();
}

/// Two faults: a warp of one multiprocessor's four walks along rows, in blocks that hardly fit.
__global__ void r27a(const float* in, float* out, int rows) {
    extern __shared__ float reserved[];
    if (rows == 0) reserved[threadIdx.x] = 0.0F;
    for (int row = static_cast<int>(first_index()); row < rows; row += step_of_grid()) {
        float sum = 0.0F;
        for (int i = 0; i < 128; ++i) sum = fmaf(sum, 0.25F, in[std::size_t{128} * row + i]);
        out[row] = sum;
    }
}
__global__ void r27b(const float* in, float* out, int rows) {
    for (int row = static_cast<int>(first_index()); row < rows; row += step_of_grid()) {
        float sum = 0.0F;
#pragma unroll 8
        for (int i = 0; i < 128; ++i) sum = fmaf(sum, 0.25F, in[std::size_t(rows) * i + row]);
        out[row] = sum;
    }
}

/// Two faults: rows of shared memory that lie in one bank, and a barrier after each.
template <int Pitch, bool Barrier>
__device__ void walk_rows(const float* in, float* out) {
    __shared__ float tile[64 * Pitch];
    for (int i = threadIdx.x; i < 64 * Pitch; i += 256) tile[i] = in[blockIdx.x * 64 + i];
    __syncthreads();
    float sum = 0.0F;
    for (int step = 0; step < 256; ++step) {
        sum = fmaf(sum, 0.5F, tile[threadIdx.x % 64 * Pitch + step % 64]);
        if (Barrier) __syncthreads();
    }
    out[first_index()] = sum;
}
__global__ void r28a(const float* in, float* out) {
    walk_rows<64, true>(in, out);
}
__global__ void r28b(const float* in, float* out) {
    walk_rows<65, false>(in, out);
}

}  // namespace

std::vector<Launch> more_third_launches() {
    return faults_first({
        {"r13a",
         [](const Memory& m) {
             r13a<<<full, threads>>>(in_words<unsigned char>(m), m.out, floats / 2);
         }},
        {"r13b",
         [](const Memory& m) {
             r13b<<<full, threads>>>(in_words<uchar4>(m), out_words<float4>(m), floats / 2);
         }},
        {"r14a",
         [](const Memory& m) {
             r14a<<<multiprocessors, 128>>>(in_words<unsigned>(m), out_words<unsigned>(m));
         }},
        {"r14b",
         [](const Memory& m) {
             r14b<<<multiprocessors, 128>>>(in_words<unsigned>(m), out_words<unsigned>(m));
         }},
        {"r15a",
         [](const Memory& m) { r15a<<<multiprocessors, 128>>>(out_words<unsigned>(m), 12288); }},
        {"r15b",
         [](const Memory& m) { r15b<<<multiprocessors, 128>>>(out_words<unsigned>(m), 12288); }},
        {"r16a", [](const Memory& m) { r16a<<<multiprocessors, 128>>>(m.in, m.out); }},
        {"r16b", [](const Memory& m) { r16b<<<multiprocessors, 128>>>(m.in, m.out); }},
        {"r17a",
         [](const Memory& m) {
             r17a<<<full, threads>>>(in_words<unsigned>(m), m.out, floats / 4);
         }},
        {"r17b",
         [](const Memory& m) {
             r17b<<<full, threads>>>(in_words<unsigned>(m), m.out, floats / 4);
         }},
        {"r18a", [](const Memory& m) { r18a<<<full * 2, threads>>>(m.out); }},
        {"r18b", [](const Memory& m) { r18b<<<full * 2, threads>>>(m.out); }},
        {"r19a",
         [](const Memory& m) {
             r19a<<<full, threads>>>(in_words<unsigned>(m), out_words<unsigned>(m), floats / 64);
         }},
        {"r19b",
         [](const Memory& m) {
             r19b<<<full, threads>>>(in_words<unsigned>(m), out_words<unsigned>(m), floats / 64);
         }},
        {"r20a", [](const Memory& m) { r20a<<<full, threads>>>(m.in, m.out, floats / 16); }},
        {"r20b", [](const Memory& m) { r20b<<<full, threads>>>(m.in, m.out, floats / 16); }},
    });
}

std::vector<Launch> last_third_launches() {
    constexpr int reserved = 56 << 10;
    return faults_first({
        {"r21a",
         [](const Memory& m) { r21a<<<full, threads>>>(in_words<float4>(m), m.out, floats / 4); }},
        {"r21b",
         [](const Memory& m) { r21b<<<full, threads>>>(in_words<float4>(m), m.out, floats / 4); }},
        {"r22a", [](const Memory& m) { r22a<<<multiprocessors * 2, 1024>>>(m.in, m.out, 768); }},
        {"r22b", [](const Memory& m) { r22b<<<multiprocessors * 2, 1024>>>(m.in, m.out, 768); }},
        {"r23a", [](const Memory& m) { r23a<<<full, threads>>>(m.in, m.out); }},
        {"r23b", [](const Memory& m) { r23b<<<full, threads>>>(m.in, m.out); }},
        {"r24a",
         [](const Memory& m) {
             r24a<<<full, threads>>>(in_words<unsigned>(m), m.out, floats / 8);
         }},
        {"r24b",
         [](const Memory& m) {
             r24b<<<full, threads>>>(in_words<unsigned>(m), m.out, floats / 8);
         }},
        {"r25a", [](const Memory& m) { r25a<<<dim3(4096 / 32, 4096), 32>>>(m.in, m.out); }},
        {"r25b",
         [](const Memory& m) {
             r25b<<<4096, threads>>>(in_words<float4>(m), out_words<float4>(m));
         }},
        {"r26a", [](const Memory& m) { r26a<<<full, threads>>>(m.out, 64); }},
        {"r26b", [](const Memory& m) { r26b<<<full, threads>>>(m.out, 64); }},
        {"r27a",
         [](const Memory& m) {
             cudaFuncSetAttribute(r27a, cudaFuncAttributeMaxDynamicSharedMemorySize, reserved);
             r27a<<<full, 64, reserved>>>(m.in, m.out, 1 << 18);
         }},
        {"r27b", [](const Memory& m) { r27b<<<full, threads>>>(m.in, m.out, 1 << 18); }},
        {"r28a", [](const Memory& m) { r28a<<<full * 2, threads>>>(m.in, m.out); }},
        {"r28b", [](const Memory& m) { r28b<<<full * 2, threads>>>(m.in, m.out); }},
    });
}

}  // namespace planted
