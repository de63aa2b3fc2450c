// A third set of kernels that judge the cause split: written before any formula was changed after
// the second, and run after the last change. r* have a planted fault (a) and a mended twin (b); see
// planted.h. The second half is in third_more_kernels.cu, the healthy ones in
// third_healthy_kernels.cu.
#include "planted.h"

namespace planted {
namespace {

/// The green of pixels of three floats, between the others or in a plane of its own.
__global__ void r01a(const float* in, float* out, std::size_t count) {
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        out[i] = in[3 * i + 1] * 0.7F;
    }
}
__global__ void r01b(const float* in, float* out, std::size_t count) {
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i] * 0.7F;
}

/// Products of a matrix of 8192 x 2048 and a vector; the lanes of a warp take rows or columns.
constexpr int long_row = 2048;
__global__ void r02a(const float* in, float* out, int rows) {
    const int row = static_cast<int>(first_index()) / 8;
    const int part = threadIdx.x % 8;
    if (row >= rows) return;
    float sum = 0.0F;
    const float* const mine = in + std::size_t{long_row} * row + part * (long_row / 8);
    for (int i = 0; i < long_row / 8; ++i) sum = fmaf(mine[i], static_cast<float>(i), sum);
    for (int step = 4; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
    if (part == 0) out[row] = sum;
}
__global__ void r02b(const float* in, float* out, int rows) {
    const int row = static_cast<int>(first_index()) / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0F;
    const float* const mine = in + std::size_t{long_row} * row;
#pragma unroll 8
    for (int i = lane; i < long_row; i += 32) sum = fmaf(mine[i], static_cast<float>(i), sum);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
    if (lane == 0) out[row] = sum;
}

/// Eight lanes read a random row of eight words, which begins in the middle of a sector or at one.
template <int Offset>
__device__ void rows_of_eight(const float* in, float* out, const unsigned* index) {
    const int lane = threadIdx.x % 8;
    for (std::size_t i = first_index() / 8; i < links / 4; i += step_of_grid() / 8) {
        out[8 * i + lane] = in[std::size_t{8} * (index[i] % (links / 4)) + Offset + lane];
    }
}
__global__ void r03a(const float* in, float* out, const unsigned* index) {
    rows_of_eight<4>(in, out, index);
}
__global__ void r03b(const float* in, float* out, const unsigned* index) {
    rows_of_eight<0>(in, out, index);
}

/// Butterflies over 1024 values in shared memory, with or without a pad after 32 words.
template <bool Padded>
__device__ void butterflies(const float* in, float* out) {
    __shared__ float value[1024 + 32];
    const auto at = [](int i) { return Padded ? i + i / 32 : i; };
    for (int j = 0; j < 8; ++j) {
        const int i = static_cast<int>(threadIdx.x) * 8 + j;
        value[at(i)] = in[blockIdx.x * std::size_t{1024} + i];
    }
    __syncthreads();
    for (int round = 0; round < 24; ++round) {
        for (int bit = 32; bit < 1024; bit *= 2) {
            // A lane's pairs lie 32 words from its neighbour's.
            for (int j = 0; j < 4; ++j) {
                const int pair = static_cast<int>(threadIdx.x) % 16 * 32 +
                                 static_cast<int>(threadIdx.x) / 16 + 8 * j;
                const int low = pair / bit * 2 * bit + pair % bit;
                const float a = value[at(low)];
                const float b = value[at(low + bit)];
                value[at(low)] = 0.5F * (a + b);
                value[at(low + bit)] = 0.5F * (a - b);
            }
            __syncthreads();
        }
    }
    for (int j = 0; j < 8; ++j) {
        const int i = static_cast<int>(threadIdx.x) * 8 + j;
        out[blockIdx.x * std::size_t{1024} + i] = value[at(i)];
    }
}
__global__ void r04a(const float* in, float* out) {
    butterflies<false>(in, out);
}
__global__ void r04b(const float* in, float* out) {
    butterflies<true>(in, out);
}

/// Particles of eight numbers in shared memory, as structures or as arrays.
template <int Particle, int Number>
__device__ void particles(const float* in, float* out) {
    __shared__ float all[256 * 8];
    for (int n = 0; n < 8; ++n) {
        all[threadIdx.x * Particle + n * Number] = in[first_index() + 32 * n];
    }
    __syncthreads();
    float force = 0.0F;
    for (int other = 0; other < 256; ++other) {
        const int p = (static_cast<int>(threadIdx.x) + other) % 256 * Particle;
        const float dx = all[p] - force;
        const float dy = all[p + Number] + 0.3F;
        force = fmaf(dx, dy, 0.001F * all[p + 6 * Number]);
    }
    out[first_index()] = force;
}
__global__ void r05a(const float* in, float* out) {
    particles<8, 1>(in, out);
}
__global__ void r05b(const float* in, float* out) {
    particles<1, 256>(in, out);
}

/// A stream of pairs, in threads that keep 150 values or four.
template <int Values>
__device__ void keeps(const float2* in, float2* out, std::size_t count) {
    float kept[Values];
#pragma unroll
    for (int j = 0; j < Values; ++j) {
        kept[j] = reinterpret_cast<const float*>(in)[first_index() + 64 * j];
    }
#pragma unroll 1
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float2 v = in[i];
        out[i] = {v.x * 0.5F, v.y + 1.0F};
    }
    float sum = 0.0F;
#pragma unroll
    for (int j = 0; j < Values; ++j) sum = fmaf(sum, 0.9F, kept[j]);
    if (sum < 0.0F) reinterpret_cast<float*>(out)[first_index()] = sum;
}
__global__ void __launch_bounds__(128, 2) r06a(const float2* in, float2* out, std::size_t count) {
    keeps<150>(in, out, count);
}
__global__ void r06b(const float2* in, float2* out, std::size_t count) {
    keeps<4>(in, out, count);
}

/// A gather from 8 MiB, in blocks that reserve 100 KiB of shared memory or none.
__device__ void gather(const float* in, float* out, const unsigned* index) {
    for (std::size_t i = first_index(); i < links; i += step_of_grid()) {
        out[i] = in[index[i] % (1U << 21U)];
    }
}
__global__ void r07a(const float* in, float* out, const unsigned* index) {
    extern __shared__ float reserved[];
    if (index == nullptr) reserved[threadIdx.x] = 0.0F;
    gather(in, out, index);
}
__global__ void r07b(const float* in, float* out, const unsigned* index) {
    gather(in, out, index);
}

/// The last 24 values of a sequence, in an array whose place is computed or in registers.
__global__ void r08a(const float* in, float* out, int steps) {
    float last[24];
    for (int j = 0; j < 24; ++j) last[j] = in[first_index() + 8 * j];
    int at = static_cast<int>(threadIdx.x) % 24;
    for (int i = 0; i < steps; ++i) {
        const int next = at == 23 ? 0 : at + 1;
        last[at] = fmaf(last[at], 0.5F, last[next]);
        at = next;
    }
    float sum = 0.0F;
    for (int j = 0; j < 24; ++j) sum += last[j];
    out[first_index()] = sum;
}
__global__ void r08b(const float* in, float* out, int steps) {
    float last[24];
#pragma unroll
    for (int j = 0; j < 24; ++j) last[j] = in[first_index() + 8 * j];
#pragma unroll 1
    for (int i = 0; i < steps; i += 24) {
#pragma unroll
        for (int j = 0; j < 24; ++j) last[j] = fmaf(last[j], 0.5F, last[(j + 1) % 24]);
    }
    float sum = 0.0F;
#pragma unroll
    for (int j = 0; j < 24; ++j) sum += last[j];
    out[first_index()] = sum;
}

/// Products of matrices by tiles of 32 in shared memory: 64 blocks, or 16 times as many that each
/// take a part of the inner dimension.
__device__ void tiles(const float* a, const float* b, float* out, int inner) {
    __shared__ float x[32][33];
    __shared__ float y[32][33];
    const int column = threadIdx.x % 32;
    const int row = threadIdx.x / 32;
    const int tile_x = static_cast<int>(blockIdx.x) % 8 * 32;
    const int tile_y = static_cast<int>(blockIdx.x) / 8 % 8 * 32;
    const int part = static_cast<int>(blockIdx.x) / 64 * inner;
    float sum[4] = {};
    for (int k = part; k < part + inner; k += 32) {
        for (int j = 0; j < 4; ++j) {
            x[row + 8 * j][column] = a[std::size_t{8192} * (tile_y + row + 8 * j) + k + column];
            y[row + 8 * j][column] = b[std::size_t{256} * (k + row + 8 * j) + tile_x + column];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) sum[j] = fmaf(x[row + 8 * j][i], y[i][column], sum[j]);
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j) {
        atomicAdd(out + 256 * (tile_y + row + 8 * j) + tile_x + column, sum[j]);
    }
}
__global__ void r09a(const float* a, const float* b, float* out, int inner) {
    tiles(a, b, out, inner);
}
__global__ void r09b(const float* a, const float* b, float* out, int inner) {
    tiles(a, b, out, inner);
}

/// A continued fraction, in 60 blocks or in many.
__device__ void fraction(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float x = in[i];
        float y = x;
        for (int j = 0; j < 24; ++j) y = __fdividef(x, 1.5F + y);
        out[i] = y;
    }
}
__global__ void r10a(const float* in, float* out, std::size_t count) {
    fraction(in, out, count);
}
__global__ void r10b(const float* in, float* out, std::size_t count) {
    fraction(in, out, count);
}

/// Rows of a triangle: block n walks n rows of the product, the longest last or first.
template <bool LongestFirst>
__device__ void triangle(const float* in, float* out) {
    const int place = static_cast<int>(LongestFirst ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    float sum = 0.0F;
    for (int row = 0; row <= place; ++row) {
        sum = fmaf(sum, 0.5F, in[(row % 512) * 256 + threadIdx.x]);
        sum = fmaf(sum, sum, 0.1F) * 0.4F;
    }
    out[place * 256 + threadIdx.x] = sum;
}
__global__ void r11a(const float* in, float* out) {
    triangle<false>(in, out);
}
__global__ void r11b(const float* in, float* out) {
    triangle<true>(in, out);
}

/// Blocks of which one fits, 150 of them, or as much work in 1200.
__device__ void rotate(float* out, int steps) {
    float x[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) x[j] = static_cast<float>(threadIdx.x % 31 + j) * 0.02F;
    for (int i = 0; i < steps; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) x[j] = fmaf(x[(j + 1) % 4], 0.6F, x[j] * 0.3F);
    }
    out[first_index()] = x[0] + x[1] + x[2] + x[3];
}
__global__ void r12a(float* out, int steps) {
    extern __shared__ float room[];
    if (steps == 0) room[threadIdx.x] = 0.0F;
    rotate(out, steps);
}
__global__ void r12b(float* out, int steps) {
    extern __shared__ float room[];
    if (steps == 0) room[threadIdx.x] = 0.0F;
    rotate(out, steps);
}

}  // namespace

std::vector<Launch> third_launches() {
    constexpr int most_of_shared = 160 << 10;
    constexpr int reserved = 100 << 10;
    return faults_first({
        {"r01a", [](const Memory& m) { r01a<<<full, threads>>>(m.in, m.out, floats / 4); }},
        {"r01b", [](const Memory& m) { r01b<<<full, threads>>>(m.in, m.out, floats / 4); }},
        {"r02a", [](const Memory& m) { r02a<<<8192 * 8 / threads, threads>>>(m.in, m.out, 8192); }},
        {"r02b",
         [](const Memory& m) { r02b<<<8192 * 32 / threads, threads>>>(m.in, m.out, 8192); }},
        {"r03a", [](const Memory& m) { r03a<<<full, threads>>>(m.in, m.out, m.index); }},
        {"r03b", [](const Memory& m) { r03b<<<full, threads>>>(m.in, m.out, m.index); }},
        {"r04a", [](const Memory& m) { r04a<<<full * 2, 128>>>(m.in, m.out); }},
        {"r04b", [](const Memory& m) { r04b<<<full * 2, 128>>>(m.in, m.out); }},
        {"r05a", [](const Memory& m) { r05a<<<full * 2, threads>>>(m.in, m.out); }},
        {"r05b", [](const Memory& m) { r05b<<<full * 2, threads>>>(m.in, m.out); }},
        {"r06a",
         [](const Memory& m) {
             r06a<<<full, 128>>>(in_words<float2>(m), out_words<float2>(m), floats / 8);
         }},
        {"r06b",
         [](const Memory& m) {
             r06b<<<full, 128>>>(in_words<float2>(m), out_words<float2>(m), floats / 8);
         }},
        {"r07a",
         [](const Memory& m) {
             cudaFuncSetAttribute(r07a, cudaFuncAttributeMaxDynamicSharedMemorySize, reserved);
             r07a<<<full, 128, reserved>>>(m.in, m.out, m.index);
         }},
        {"r07b", [](const Memory& m) { r07b<<<full, 128>>>(m.in, m.out, m.index); }},
        {"r08a", [](const Memory& m) { r08a<<<full, threads>>>(m.in, m.out, 1536); }},
        {"r08b", [](const Memory& m) { r08b<<<full, threads>>>(m.in, m.out, 1536); }},
        {"r09a",
         [](const Memory& m) { r09a<<<64, threads>>>(m.in, m.in + floats / 2, m.out, 8192); }},
        {"r09b",
         [](const Memory& m) {
             r09b<<<64 * 16, threads>>>(m.in, m.in + floats / 2, m.out, 8192 / 16);
         }},
        {"r10a", [](const Memory& m) { r10a<<<60, threads>>>(m.in, m.out, floats / 16); }},
        {"r10b", [](const Memory& m) { r10b<<<full, threads>>>(m.in, m.out, floats / 16); }},
        {"r11a", [](const Memory& m) { r11a<<<multiprocessors * 12, threads>>>(m.in, m.out); }},
        {"r11b", [](const Memory& m) { r11b<<<multiprocessors * 12, threads>>>(m.in, m.out); }},
        {"r12a",
         [](const Memory& m) {
             cudaFuncSetAttribute(r12a, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  most_of_shared);
             r12a<<<150, 1024, most_of_shared>>>(m.out, 4096);
         }},
        {"r12b",
         [](const Memory& m) {
             cudaFuncSetAttribute(r12b, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  most_of_shared);
             r12b<<<1200, 1024, most_of_shared>>>(m.out, 512);
         }},
    });
}

}  // namespace planted
