// The second half of the kernels that judge the cause split; see judge_kernels.cu.
#include <cuda_fp16.h>

#include "planted.h"

namespace planted {
namespace {

/// A histogram of 64 bins, in global memory or first in shared memory.
__global__ void n10a(const unsigned* in, unsigned* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        atomicAdd(out + (in[i] >> 7U) % 64, 1U);
    }
}
__global__ void n10b(const unsigned* in, unsigned* out, std::size_t count) {
    __shared__ unsigned bins[8][65];
    for (int i = threadIdx.x; i < 8 * 65; i += blockDim.x) bins[i / 65][i % 65] = 0;
    __syncthreads();
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        atomicAdd(bins[threadIdx.x / 32] + (in[i] >> 7U) % 64, 1U);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 64; i += blockDim.x) {
        unsigned sum = 0;
        for (int w = 0; w < 8; ++w) sum += bins[w][i];
        atomicAdd(out + i, sum);
    }
}

/// Running sums of 1024 values (Hillis and Steele), with barriers of the block or within warps.
__global__ void n11a(const float* in, float* out) {
    __shared__ float value[2][1024];
    float mine = in[first_index()];
    for (int round = 0; round < 48; ++round) {
        int side = 0;
        value[0][threadIdx.x] = mine;
        __syncthreads();
        for (int step = 1; step < 1024; step *= 2) {
            const float left = threadIdx.x >= step ? value[side][threadIdx.x - step] : 0.0F;
            value[1 - side][threadIdx.x] = value[side][threadIdx.x] + left;
            side = 1 - side;
            __syncthreads();
        }
        mine = value[side][threadIdx.x] * 0.001F;
    }
    out[first_index()] = mine;
}
__global__ void n11b(const float* in, float* out) {
    __shared__ float sums[2][32];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    float mine = in[first_index()];
    for (int round = 0; round < 48; ++round) {
        for (int step = 1; step < 32; step *= 2) {
            const float left = __shfl_up_sync(~0U, mine, step);
            mine += lane >= step ? left : 0.0F;
        }
        if (lane == 31) sums[round & 1][warp] = mine;
        __syncthreads();
        float before = lane < warp ? sums[round & 1][lane] : 0.0F;
        for (int step = 16; step > 0; step /= 2) before += __shfl_xor_sync(~0U, before, step);
        mine = (mine + before) * 0.001F;
    }
    out[first_index()] = mine;
}

/// Lengths of vectors, with a square root in double or in single precision.
__global__ void n12a(const float2* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float2 v = in[i];
        out[i] = static_cast<float>(
            sqrt(static_cast<double>(v.x) * v.x + 1e-9 + static_cast<double>(v.y) * v.y));
    }
}
__global__ void n12b(const float2* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float2 v = in[i];
        out[i] = sqrtf(v.x * v.x + 1e-9F + v.y * v.y);
    }
}

__device__ float sum_of_block(float mine, float* shared) {
    for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(~0U, mine, step);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
    __syncthreads();
    float all = shared[threadIdx.x % 32];
    for (int step = 16; step > 0; step /= 2) all += __shfl_xor_sync(~0U, all, step);
    __syncthreads();
    return all;
}
/// Rows of 32768 are scaled to variance 1: read three times, or kept in registers.
constexpr int row = 32768;
__global__ void __launch_bounds__(1024) n13a(const float4* in, float4* out) {
    __shared__ float shared[32];
    const float4* const mine = in + std::size_t{blockIdx.x} * (row / 4);
    float4* const result = out + std::size_t{blockIdx.x} * (row / 4);
    float sum = 0.0F;
    for (int i = threadIdx.x; i < row / 4; i += 1024) {
        const float4 v = __ldcv(mine + i);
        sum += v.x + v.y + v.z + v.w;
    }
    const float mean = sum_of_block(sum, shared) / row;
    float squares = 0.0F;
    for (int i = threadIdx.x; i < row / 4; i += 1024) {
        const float4 v = __ldcv(mine + i);
        squares += (v.x - mean) * (v.x - mean) + (v.y - mean) * (v.y - mean) +
                   (v.z - mean) * (v.z - mean) + (v.w - mean) * (v.w - mean);
    }
    const float scale = rsqrtf(sum_of_block(squares, shared) / row + 1e-5F);
    for (int i = threadIdx.x; i < row / 4; i += 1024) {
        const float4 v = __ldcv(mine + i);
        result[i] = {(v.x - mean) * scale, (v.y - mean) * scale, (v.z - mean) * scale,
                     (v.w - mean) * scale};
    }
}
__global__ void __launch_bounds__(1024) n13b(const float4* in, float4* out) {
    __shared__ float shared[32];
    const float4* const mine = in + std::size_t{blockIdx.x} * (row / 4);
    float4* const result = out + std::size_t{blockIdx.x} * (row / 4);
    float4 v[8];
    float sum = 0.0F;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        v[j] = mine[threadIdx.x + 1024 * j];
        sum += v[j].x + v[j].y + v[j].z + v[j].w;
    }
    const float mean = sum_of_block(sum, shared) / row;
    float squares = 0.0F;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        squares += (v[j].x - mean) * (v[j].x - mean) + (v[j].y - mean) * (v[j].y - mean) +
                   (v[j].z - mean) * (v[j].z - mean) + (v[j].w - mean) * (v[j].w - mean);
    }
    const float scale = rsqrtf(sum_of_block(squares, shared) / row + 1e-5F);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        result[threadIdx.x + 1024 * j] = {(v[j].x - mean) * scale, (v[j].y - mean) * scale,
                                          (v[j].z - mean) * scale, (v[j].w - mean) * scale};
    }
}

/// Every thread stores a word, in a random or in its own place.
__global__ void n14a(const float* in, float* out, const unsigned* index) {
    for (std::size_t i = first_index(); i < links; i += step_of_grid()) out[index[i]] = in[i];
}
__global__ void n14b(const float* in, float* out, const unsigned* index) {
    for (std::size_t i = first_index(); i < links; i += step_of_grid()) {
        out[i] = in[i] + static_cast<float>(index[i]);
    }
}

/// One word a thread in blocks of 64.
__global__ void n15a(const float* in, float* out) {
    out[first_index()] = in[first_index()] * 2.0F;
}
__global__ void n15b(const float4* in, float4* out, std::size_t count) {
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 v = in[i];
        out[i] = {v.x * 2.0F, v.y * 2.0F, v.z * 2.0F, v.w * 2.0F};
    }
}

/// Eight hyperbolic tangents an element: the library's, or the instruction.
__device__ float tangent(float x) {
    float y = 0.0F;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__global__ void n16a(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float x = in[i];
        for (int j = 0; j < 8; ++j) x = tanhf(x) + 0.1F;
        out[i] = x;
    }
}
__global__ void n16b(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float x = in[i];
        for (int j = 0; j < 8; ++j) x = tangent(x) + 0.1F;
        out[i] = x;
    }
}

/// Work that grows with the block's number: alone, or with its counterpart.
__device__ float grind(int steps) {
    float a = static_cast<float>(threadIdx.x) * 0.001F;
    float b = a + 0.3F;
    for (int i = 0; i < steps; ++i) {
        a = fmaf(a, 0.99F, 0.01F);
        b = fmaf(b, 0.98F, 0.01F);
    }
    return a + b;
}
__global__ void n17a(float* out) {
    const int place = static_cast<int>(blockIdx.x);
    out[first_index()] = grind(place * 16);
}
__global__ void n17b(float* out) {
    const int place = static_cast<int>(blockIdx.x);
    const int last = static_cast<int>(gridDim.x) - 1;
    out[first_index()] = grind((place % 2 == 0 ? place : last - place + 1) * 8) +
                         grind((place % 2 == 0 ? last - place : place - 1) * 8);
}

// Healthy: a read of everything, packed half arithmetic, a copy in 8-byte words, a filter in
// registers.
__global__ void g01(const float4* in, float* out, std::size_t count) {
    float most = 0.0F;
#pragma unroll 8
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 v = in[i];
        most = fmaxf(most, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    out[first_index()] = most;
}
__global__ void g02(__half2* out) {
    __half2 v[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) v[c] = __float2half2_rn(static_cast<float>(threadIdx.x + c));
#pragma unroll 8
    for (int i = 0; i < 4096; ++i) {
#pragma unroll
        for (int c = 0; c < 8; ++c) v[c] = __hfma2(v[c], v[(c + 1) % 8], v[(c + 3) % 8]);
    }
    __half2 sum = v[0];
    for (int c = 1; c < 8; ++c) sum = __hadd2(sum, v[c]);
    out[first_index()] = sum;
}
__global__ void g03(const float2* in, float2* out, std::size_t count) {
#pragma unroll 8
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i];
}
__global__ void g04(const float4* in, float4* out, std::size_t count) {
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float4 v = in[i];
        v.x = fmaf(v.x, v.x, 0.5F);
        v.y = fmaf(v.y, v.y, 0.5F);
        v.z = fmaf(v.z, v.z, 0.5F);
        v.w = fmaf(v.w, v.w, 0.5F);
        out[i] = v;
    }
}

}  // namespace

std::vector<Launch> more_judge_launches() {
    constexpr std::size_t pairs = floats / 4;
    return {
        {"n10a",
         [](const Memory& m) {
             n10a<<<full, threads>>>(in_words<unsigned>(m), out_words<unsigned>(m), floats / 16);
         }},
        {"n10b",
         [](const Memory& m) {
             n10b<<<full, threads>>>(in_words<unsigned>(m), out_words<unsigned>(m), floats / 16);
         }},
        {"n11a", [](const Memory& m) { n11a<<<multiprocessors * 2, 1024>>>(m.in, m.out); }},
        {"n11b", [](const Memory& m) { n11b<<<multiprocessors * 2, 1024>>>(m.in, m.out); }},
        {"n12a",
         [](const Memory& m) { n12a<<<full, threads>>>(in_words<float2>(m), m.out, pairs); }},
        {"n12b",
         [](const Memory& m) { n12b<<<full, threads>>>(in_words<float2>(m), m.out, pairs); }},
        {"n13a",
         [](const Memory& m) {
             n13a<<<floats / row, 1024>>>(in_words<float4>(m), out_words<float4>(m));
         }},
        {"n13b",
         [](const Memory& m) {
             n13b<<<floats / row, 1024>>>(in_words<float4>(m), out_words<float4>(m));
         }},
        {"n14a", [](const Memory& m) { n14a<<<full, threads>>>(m.in, m.out, m.index); }},
        {"n14b", [](const Memory& m) { n14b<<<full, threads>>>(m.in, m.out, m.index); }},
        {"n15a", [](const Memory& m) { n15a<<<floats / 4 / 64, 64>>>(m.in, m.out); }},
        {"n15b",
         [](const Memory& m) {
             n15b<<<full, threads>>>(in_words<float4>(m), out_words<float4>(m), floats / 16);
         }},
        {"n16a", [](const Memory& m) { n16a<<<full, threads>>>(m.in, m.out, floats / 8); }},
        {"n16b", [](const Memory& m) { n16b<<<full, threads>>>(m.in, m.out, floats / 8); }},
        {"n17a", [](const Memory& m) { n17a<<<multiprocessors * 16, threads>>>(m.out); }},
        {"n17b", [](const Memory& m) { n17b<<<multiprocessors * 16, threads>>>(m.out); }},
        {"g01",
         [](const Memory& m) { g01<<<full, threads>>>(in_words<float4>(m), m.out, floats / 4); }},
        {"g02", [](const Memory& m) { g02<<<full, threads>>>(out_words<__half2>(m)); }},
        {"g03",
         [](const Memory& m) {
             g03<<<full, threads>>>(in_words<float2>(m), out_words<float2>(m), floats / 2);
         }},
        {"g04",
         [](const Memory& m) {
             g04<<<full, threads>>>(in_words<float4>(m), out_words<float4>(m), floats / 4);
         }},
    };
}

}  // namespace planted
