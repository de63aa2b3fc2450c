// The second half of the fresh judges of the cause split, and its healthy kernels; see
// fresh_kernels.cu.
#include <cuda_fp16.h>

#include "planted.h"

namespace planted {
namespace {

/// Every piece of 256 KiB is read by four blocks, one after the other or far apart.
constexpr std::size_t piece = (std::size_t{256} << 10U) / sizeof(float4);
template <bool Apart>
__device__ void pieces(const float4* in, float* out, int count) {
    const std::size_t mine = Apart ? blockIdx.x % count : blockIdx.x / 4;
    const float weight = static_cast<float>(Apart ? blockIdx.x / count : blockIdx.x % 4);
    float sum = 0.0F;
#pragma unroll 8
    for (std::size_t i = threadIdx.x; i < piece; i += blockDim.x) {
        const float4 v = __ldcg(in + mine * piece + i);
        sum += fmaf(v.x, weight, v.y) + fmaf(v.z, weight, v.w);
    }
    out[first_index()] = sum;
}
__global__ void q10a(const float4* in, float* out, int count) {
    pieces<true>(in, out, count);
}
__global__ void q10b(const float4* in, float* out, int count) {
    pieces<false>(in, out, count);
}

/// Sums of rows of 1024 by a tree with a barrier a step, or by shuffles.
__global__ void q11a(const float* in, float* out, int rows) {
    __shared__ float value[1024];
    for (int row = static_cast<int>(blockIdx.x); row < rows; row += static_cast<int>(gridDim.x)) {
        value[threadIdx.x] = in[std::size_t{1024} * row + threadIdx.x];
        __syncthreads();
        for (int half = 512; half > 0; half /= 2) {
            if (threadIdx.x < half) value[threadIdx.x] += value[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) out[row] = value[0];
        __syncthreads();
    }
}
__global__ void q11b(const float* in, float* out, int rows) {
    const int lane = threadIdx.x % 32;
    const int warps = static_cast<int>(step_of_grid() / 32);
    for (int row = static_cast<int>(first_index() / 32); row < rows; row += warps) {
        float sum = 0.0F;
#pragma unroll
        for (int i = 0; i < 32; ++i) sum += in[std::size_t{1024} * row + 32 * i + lane];
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
        if (lane == 0) out[row] = sum;
    }
}

/// Bells of 16 widths for each value, by the exponential of doubles or of floats.
__global__ void q12a(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float sum = 0.0F;
        for (int j = 1; j <= 16; ++j) sum += static_cast<float>(exp(-0.1 * j * in[i]));
        out[i] = sum;
    }
}
__global__ void q12b(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float sum = 0.0F;
        for (int j = 1; j <= 16; ++j) sum += expf(-0.1F * static_cast<float>(j) * in[i]);
        out[i] = sum;
    }
}

/// Bytes to bytes through a scale, one or sixteen a thread.
__device__ unsigned scaled(unsigned four) {
    unsigned all = 0;
#pragma unroll
    for (unsigned shift = 0; shift < 32; shift += 8) {
        all |= (((four >> shift & 255U) * 201U) >> 8U) << shift;
    }
    return all;
}
__global__ void q13a(const unsigned char* in, unsigned char* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        out[i] = static_cast<unsigned char>((in[i] * 201U) >> 8U);
    }
}
__global__ void q13b(const uint4* in, uint4* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count / 16; i += step_of_grid()) {
        const uint4 v = in[i];
        out[i] = {scaled(v.x), scaled(v.y), scaled(v.z), scaled(v.w)};
    }
}

/// Each thread looks for the first of its words that is too large (none is), testing every word
/// before it reads the next, or eight at once; 256 threads a multiprocessor.
__global__ void q14a(const float* in, int* out, int words) {
    int i = 0;
    const std::size_t all = step_of_grid();
#pragma unroll 1
    while (i < words && in[first_index() + i * all] < 2.0F) ++i;
    out[first_index()] = i;
}
__global__ void q14b(const float* in, int* out, int words) {
    int i = 0;
    const std::size_t all = step_of_grid();
#pragma unroll 1
    while (i < words) {
        float v[8];
#pragma unroll
        for (int j = 0; j < 8; ++j) v[j] = in[first_index() + (i + j) * all];
        bool good = true;
#pragma unroll
        for (int j = 0; j < 8; ++j) good &= v[j] < 2.0F;
        if (!good) break;
        i += 8;
    }
    out[first_index()] = i;
}

/// y = a x + b in single words by blocks of 96 threads that reserve 72 KiB, or not.
__device__ void line(const float* in, float* out, std::size_t count) {
#pragma unroll 1
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        out[i] = fmaf(in[i], 3.0F, 1.0F);
    }
}
__global__ void q15a(const float* in, float* out, std::size_t count) {
    extern __shared__ float reserved[];
    if (count == 0) reserved[threadIdx.x] = 0.0F;
    line(in, out, count);
}
__global__ void q15b(const float4* in, float4* out, std::size_t count) {
#pragma unroll 1
    for (std::size_t i = first_index(); i < count / 4; i += step_of_grid()) {
        const float4 v = in[i];
        out[i] = {fmaf(v.x, 3.0F, 1.0F), fmaf(v.y, 3.0F, 1.0F), fmaf(v.z, 3.0F, 1.0F),
                  fmaf(v.w, 3.0F, 1.0F)};
    }
}

/// Random numbers by a 64-bit remainder, or by a product that does the same.
__global__ void q16a(unsigned* out, unsigned long long modulus, int steps) {
    unsigned long long x = first_index() + 1;
    for (int i = 0; i < steps; ++i) x = x * 48271ULL % modulus;
    out[first_index()] = static_cast<unsigned>(x);
}
__global__ void q16b(unsigned* out, int steps) {
    // The modulus is 2^31 - 1, so that the remainder is a sum of two parts.
    unsigned long long x = first_index() + 1;
    for (int i = 0; i < steps; ++i) {
        x *= 48271ULL;
        x = (x & 0x7fffffffULL) + (x >> 31U);
        x = x >= 0x7fffffffULL ? x - 0x7fffffffULL : x;
    }
    out[first_index()] = static_cast<unsigned>(x);
}

/// Two faults: 48 blocks, whose threads walk along rows of 64 words.
__global__ void q17a(const float* in, float* out, int rows) {
    for (int row = static_cast<int>(first_index()); row < rows; row += step_of_grid()) {
        float sum = 0.0F;
        for (int i = 0; i < 64; ++i) sum = fmaf(sum, 0.5F, in[std::size_t{64} * row + i]);
        out[row] = sum;
    }
}
__global__ void q17b(const float* in, float* out, int rows) {
    for (int row = static_cast<int>(first_index()); row < rows; row += step_of_grid()) {
        float sum = 0.0F;
        for (int i = 0; i < 64; ++i) sum = fmaf(sum, 0.5F, in[std::size_t(rows) * i + row]);
        out[row] = sum;
    }
}

/// Two faults: 24 of 32 lanes are off, and all of a warp's lanes add to one word of shared memory.
__global__ void q18a(const unsigned* in, unsigned* out, std::size_t count) {
    __shared__ unsigned sum[8];
    if (threadIdx.x < 8) sum[threadIdx.x] = 0;
    __syncthreads();
    for (std::size_t i = first_index(); i < count * 4; i += step_of_grid()) {
        if (i % 32 >= 8) continue;
        atomicXor(sum + threadIdx.x / 32, in[i / 32 * 8 + i % 32] >> 3U);
    }
    __syncthreads();
    if (threadIdx.x < 8) out[blockIdx.x * 8 + threadIdx.x] = sum[threadIdx.x];
}
__global__ void q18b(const unsigned* in, unsigned* out, std::size_t count) {
    unsigned mine = 0;
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) mine ^= in[i] >> 3U;
    for (int step = 16; step > 0; step /= 2) mine ^= __shfl_xor_sync(~0U, mine, step);
    if (threadIdx.x % 32 == 0) out[first_index() / 32] = mine;
}

// Healthy: a sum of two arrays of halves, a polynomial of many values, sums of rows, a scalar
// product, and stores only.
__global__ void f01(const uint4* in, uint4* out, std::size_t count) {
    const auto both = [](unsigned a, unsigned b) {
        const __half2 sum =
            __hadd2(*reinterpret_cast<__half2*>(&a), *reinterpret_cast<__half2*>(&b));
        return *reinterpret_cast<const unsigned*>(&sum);
    };
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const uint4 a = in[i];
        const uint4 b = in[i + count];
        out[i] = {both(a.x, b.x), both(a.y, b.y), both(a.z, b.z), both(a.w, b.w)};
    }
}
__global__ void f02(float* out) {
    float x[16];
#pragma unroll
    for (int j = 0; j < 16; ++j) x[j] = static_cast<float>(threadIdx.x + j) * 0.001F;
    const float a = x[3] * 0.5F;
#pragma unroll 4
    for (int i = 0; i < 2048; ++i) {
#pragma unroll
        for (int j = 0; j < 16; ++j) x[j] = fmaf(x[j], a, 0.25F);
    }
    float sum = 0.0F;
#pragma unroll
    for (int j = 0; j < 16; ++j) sum += x[j];
    out[first_index()] = sum;
}
__global__ void f03(const float4* in, float* out) {
    __shared__ float part[8];
    const float4* const row = in + std::size_t{blockIdx.x} * 2048;
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const float4 v = row[threadIdx.x + 256 * i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) sum += part[w];
        out[blockIdx.x] = sum;
    }
}
__global__ void f04(const float4* in, float* out, std::size_t count) {
    float sum = 0.0F;
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 a = in[i];
        const float4 b = in[i + count];
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    out[first_index()] = sum;
}
__global__ void f05(float4* out, std::size_t count) {
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        out[i] = {1.0F, 2.0F, 3.0F, 4.0F};
    }
}

}  // namespace

std::vector<Launch> more_fresh_launches() {
    constexpr int reserved = 72 << 10;
    constexpr int apart = floats / 4 / piece;
    constexpr unsigned long long modulus = 0x7fffffffULL;
    return {
        {"q10a",
         [](const Memory& m) { q10a<<<apart * 4, 512>>>(in_words<float4>(m), m.out, apart); }},
        {"q10b",
         [](const Memory& m) { q10b<<<apart * 4, 512>>>(in_words<float4>(m), m.out, apart); }},
        {"q11a",
         [](const Memory& m) { q11a<<<multiprocessors * 2, 1024>>>(m.in, m.out, 1 << 15); }},
        {"q11b", [](const Memory& m) { q11b<<<full, threads>>>(m.in, m.out, 1 << 15); }},
        {"q12a", [](const Memory& m) { q12a<<<full, threads>>>(m.in, m.out, floats / 16); }},
        {"q12b", [](const Memory& m) { q12b<<<full, threads>>>(m.in, m.out, floats / 16); }},
        {"q13a",
         [](const Memory& m) {
             q13a<<<full, threads>>>(in_words<unsigned char>(m), out_words<unsigned char>(m),
                                     floats * 2);
         }},
        {"q13b",
         [](const Memory& m) {
             q13b<<<full, threads>>>(in_words<uint4>(m), out_words<uint4>(m), floats * 2);
         }},
        {"q14a",
         [](const Memory& m) { q14a<<<multiprocessors, threads>>>(m.in, out_words<int>(m), 512); }},
        {"q14b",
         [](const Memory& m) { q14b<<<multiprocessors, threads>>>(m.in, out_words<int>(m), 512); }},
        {"q15a",
         [](const Memory& m) {
             cudaFuncSetAttribute(q15a, cudaFuncAttributeMaxDynamicSharedMemorySize, reserved);
             q15a<<<multiprocessors * 3, 96, reserved>>>(m.in, m.out, floats / 4);
         }},
        {"q15b",
         [](const Memory& m) {
             q15b<<<full, threads>>>(in_words<float4>(m), out_words<float4>(m), floats / 4);
         }},
        {"q16a",
         [](const Memory& m) { q16a<<<full, threads>>>(out_words<unsigned>(m), modulus, 512); }},
        {"q16b", [](const Memory& m) { q16b<<<full, threads>>>(out_words<unsigned>(m), 512); }},
        {"q17a", [](const Memory& m) { q17a<<<48, threads>>>(m.in, m.out, 1 << 18); }},
        {"q17b", [](const Memory& m) { q17b<<<full, threads>>>(m.in, m.out, 1 << 18); }},
        {"q18a",
         [](const Memory& m) {
             q18a<<<full, threads>>>(in_words<unsigned>(m), out_words<unsigned>(m), floats / 8);
         }},
        {"q18b",
         [](const Memory& m) {
             q18b<<<full, threads>>>(in_words<unsigned>(m), out_words<unsigned>(m), floats / 8);
         }},
    };
}

std::vector<Launch> fresh_healthy_launches() {
    return {
        {"f01",
         [](const Memory& m) {
             f01<<<full, threads>>>(in_words<uint4>(m), out_words<uint4>(m), floats / 8);
         }},
        {"f02", [](const Memory& m) { f02<<<full * 2, threads>>>(m.out); }},
        {"f03",
         [](const Memory& m) { f03<<<floats / 8192, threads>>>(in_words<float4>(m), m.out); }},
        {"f04",
         [](const Memory& m) { f04<<<full, threads>>>(in_words<float4>(m), m.out, floats / 8); }},
        {"f05", [](const Memory& m) { f05<<<full, threads>>>(out_words<float4>(m), floats / 4); }},
    };
}

}  // namespace planted
