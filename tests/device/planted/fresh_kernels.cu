// More kernels that judge the cause split: written before any formula was changed after the first
// judges, and run after the last change. q* have a planted fault (a) and a mended twin (b); see
// planted.h. The healthy ones (f*) are in fresh_more_kernels.cu.
#include "planted.h"

namespace planted {
namespace {

/// Sums of rows of 256: a thread or a warp to a row.
__global__ void q01a(const float* in, float* out, int rows) {
    for (int row = static_cast<int>(first_index()); row < rows; row += step_of_grid()) {
        float sum = 0.0F;
        for (int i = 0; i < 256; ++i) sum += in[std::size_t{256} * row + i];
        out[row] = sum;
    }
}
__global__ void q01b(const float* in, float* out, int rows) {
    const int warps = static_cast<int>(step_of_grid() / 32);
    const int lane = threadIdx.x % 32;
    for (int row = static_cast<int>(first_index() / 32); row < rows; row += warps) {
        float sum = 0.0F;
        for (int i = lane; i < 256; i += 32) sum += in[std::size_t{256} * row + i];
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
        if (lane == 0) out[row] = sum;
    }
}

/// Every thread keeps 16 counts of its own in shared memory, in rows of 16 or 17 words.
template <int Stride>
__device__ void counts(const unsigned* in, unsigned* out, std::size_t count) {
    __shared__ unsigned mine[256 * Stride];
    for (int j = 0; j < 16; ++j) mine[threadIdx.x * Stride + j] = 0;
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const unsigned first = in[i];
#pragma unroll 8
        for (unsigned j = 0; j < 32; ++j) mine[threadIdx.x * Stride + (first + j) % 16] += j;
    }
    unsigned all = 0;
    for (int j = 0; j < 16; ++j) all += mine[threadIdx.x * Stride + j] * j;
    out[first_index()] = all;
}
__global__ void q02a(const unsigned* in, unsigned* out, std::size_t count) {
    counts<16>(in, out, count);
}
__global__ void q02b(const unsigned* in, unsigned* out, std::size_t count) {
    counts<17>(in, out, count);
}

/// Real parts of complex numbers, between the imaginary ones or on their own.
__global__ void q03a(const float2* in, float* out, std::size_t count) {
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        out[i] = in[i].x * 0.5F;
    }
}
__global__ void q03b(const float* in, float* out, std::size_t count) {
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i] * 0.5F;
}

/// Squares of 6 x 6 matrices in the registers of a thread, as many as it needs or 40.
__device__ void powers(float* out) {
    float m[36];
#pragma unroll
    for (int i = 0; i < 36; ++i) m[i] = static_cast<float>((threadIdx.x + i * 7) % 13) * 0.01F;
#pragma unroll 1
    for (int round = 0; round < 128; ++round) {
        float s[36];
#pragma unroll
        for (int i = 0; i < 36; ++i) {
            float sum = 0.01F;
#pragma unroll
            for (int k = 0; k < 6; ++k) sum = fmaf(m[i / 6 * 6 + k], m[k * 6 + i % 6], sum);
            s[i] = sum;
        }
#pragma unroll
        for (int i = 0; i < 36; ++i) m[i] = s[i];
    }
    float all = 0.0F;
#pragma unroll
    for (int i = 0; i < 36; ++i) all += m[i];
    out[first_index()] = all;
}
__global__ void __launch_bounds__(256, 6) q04a(float* out) {
    powers(out);
}
__global__ void __launch_bounds__(256, 2) q04b(float* out) {
    powers(out);
}

/// The largest of everything, by 33 blocks or by all multiprocessors.
__device__ void largest(const float4* in, float* out, std::size_t count) {
    float most = 0.0F;
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 v = in[i];
        most = fmaxf(most, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    out[first_index()] = most;
}
__global__ void q05a(const float4* in, float* out, std::size_t count) {
    largest(in, out, count);
}
__global__ void q05b(const float4* in, float* out, std::size_t count) {
    largest(in, out, count);
}

/// Iterations in blocks of which two fit: 300 of them, or as much work in 2400 that leave room.
__device__ void orbit(float* out, int steps) {
    float x[6];
#pragma unroll
    for (int j = 0; j < 6; ++j) x[j] = static_cast<float>(threadIdx.x % 17 + j) * 0.01F;
    for (int i = 0; i < steps; ++i) {
#pragma unroll
        for (int j = 0; j < 6; ++j) x[j] = fmaf(x[j], x[j], -0.31F);
    }
    out[first_index()] = x[0] + x[1] + x[2] + x[3] + x[4] + x[5];
}
__global__ void q06a(float* out, int steps) {
    extern __shared__ float room[];
    if (steps == 0) room[threadIdx.x] = 0.0F;
    orbit(out, steps);
}
__global__ void q06b(float* out, int steps) {
    extern __shared__ float room[];
    if (steps == 0) room[threadIdx.x] = 0.0F;
    orbit(out, steps);
}

/// One of four formulas for each element, mixed within warps or not.
template <bool Mixed>
__device__ void formulas(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float x = in[i];
        const int kind = static_cast<int>(Mixed ? i % 4 : i / 32 % 4);
        if (kind == 0) {
            for (int j = 0; j < 40; ++j) x = fmaf(x, 0.9F, 0.05F);
        } else if (kind == 1) {
            for (int j = 0; j < 40; ++j) x = fmaf(x, x, -0.2F);
        } else if (kind == 2) {
            for (int j = 0; j < 40; ++j) x = fmaxf(x * 0.99F, 0.3F);
        } else {
            for (int j = 0; j < 40; ++j) x = x * 0.5F + x * x;
        }
        out[i] = x;
    }
}
__global__ void q07a(const float* in, float* out, std::size_t count) {
    formulas<true>(in, out, count);
}
__global__ void q07b(const float* in, float* out, std::size_t count) {
    formulas<false>(in, out, count);
}

/// A polynomial of degree 64 by Horner's rule, one value after the other or six at once, in 64
/// threads a multiprocessor.
template <int Together>
__device__ void horner(const float* in, float* out) {
    for (int first = 0; first < 96; first += Together) {
        float x[Together];
        float y[Together];
#pragma unroll
        for (int j = 0; j < Together; ++j) {
            x[j] = in[(first + j) * 8448 + first_index()];
            y[j] = 0.1F;
        }
#pragma unroll 4
        for (int k = 0; k < 256; ++k) {
#pragma unroll
            for (int j = 0; j < Together; ++j) y[j] = fmaf(y[j], x[j], 0.3F);
        }
#pragma unroll
        for (int j = 0; j < Together; ++j) out[(first + j) * 8448 + first_index()] = y[j];
    }
}
__global__ void q08a(const float* in, float* out) {
    horner<1>(in, out);
}
__global__ void q08b(const float* in, float* out) {
    horner<6>(in, out);
}

/// The largest of every 32nd word of pieces of 32768: an atomic of each thread, or one of a block.
__global__ void q09a(const unsigned* in, unsigned* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        // Neighbours belong to different rows, so that the compiler cannot join them.
        const std::size_t row = i / 32768 * 32 + i % 32;
        atomicMax(out + row, in[i]);
    }
}
__global__ void q09b(const unsigned* in, unsigned* out, std::size_t count) {
    __shared__ unsigned most[32];
    for (std::size_t base = std::size_t{blockIdx.x} * 32768; base < count;
         base += std::size_t{gridDim.x} * 32768) {
        unsigned mine = 0;
        for (int i = threadIdx.x; i < 32768; i += blockDim.x) mine = max(mine, in[base + i]);
        if (threadIdx.x < 32) most[threadIdx.x] = 0;
        __syncthreads();
        atomicMax(most + threadIdx.x % 32, mine);
        __syncthreads();
        if (threadIdx.x < 32) atomicMax(out + base / 32768 * 32 + threadIdx.x, most[threadIdx.x]);
        __syncthreads();
    }
}

}  // namespace

std::vector<Launch> fresh_launches() {
    constexpr int most_shared = 100 << 10;
    return {
        {"q01a", [](const Memory& m) { q01a<<<full / 2, threads>>>(m.in, m.out, 1 << 17); }},
        {"q01b", [](const Memory& m) { q01b<<<full, threads>>>(m.in, m.out, 1 << 17); }},
        {"q02a",
         [](const Memory& m) {
             q02a<<<full, threads>>>(in_words<unsigned>(m), out_words<unsigned>(m), floats / 16);
         }},
        {"q02b",
         [](const Memory& m) {
             q02b<<<full, threads>>>(in_words<unsigned>(m), out_words<unsigned>(m), floats / 16);
         }},
        {"q03a",
         [](const Memory& m) { q03a<<<full, threads>>>(in_words<float2>(m), m.out, floats / 2); }},
        {"q03b", [](const Memory& m) { q03b<<<full, threads>>>(m.in, m.out, floats / 2); }},
        {"q04a", [](const Memory& m) { q04a<<<full * 2, threads>>>(m.out); }},
        {"q04b", [](const Memory& m) { q04b<<<full * 2, threads>>>(m.out); }},
        {"q05a",
         [](const Memory& m) { q05a<<<33, 512>>>(in_words<float4>(m), m.out, floats / 8); }},
        {"q05b",
         [](const Memory& m) { q05b<<<full / 2, 512>>>(in_words<float4>(m), m.out, floats / 8); }},
        {"q06a",
         [](const Memory& m) {
             cudaFuncSetAttribute(q06a, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared);
             q06a<<<300, 512, most_shared>>>(m.out, 8192);
         }},
        {"q06b",
         [](const Memory& m) {
             cudaFuncSetAttribute(q06b, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared);
             q06b<<<2400, 512, most_shared>>>(m.out, 1024);
         }},
        {"q07a", [](const Memory& m) { q07a<<<full, threads>>>(m.in, m.out, floats / 4); }},
        {"q07b", [](const Memory& m) { q07b<<<full, threads>>>(m.in, m.out, floats / 4); }},
        {"q08a", [](const Memory& m) { q08a<<<multiprocessors, 64>>>(m.in, m.out); }},
        {"q08b", [](const Memory& m) { q08b<<<multiprocessors, 64>>>(m.in, m.out); }},
        {"q09a",
         [](const Memory& m) {
             q09a<<<full, threads>>>(in_words<unsigned>(m), out_words<unsigned>(m), floats / 8);
         }},
        {"q09b",
         [](const Memory& m) {
             q09b<<<floats / 8 / 32768, 1024>>>(in_words<unsigned>(m), out_words<unsigned>(m),
                                                floats / 8);
         }},
    };
}

}  // namespace planted
