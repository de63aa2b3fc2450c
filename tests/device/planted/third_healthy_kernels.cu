// Healthy kernels of the third set of judges: FMA in whole waves, FMA of doubles, a copy by short
// blocks, a sum of three arrays, softmax of rows in registers, halves to floats. See planted.h.
#include <cuda_fp16.h>

#include "planted.h"

namespace planted {
namespace {

__global__ void __launch_bounds__(512) e01(float* out) {
    float x[12];
#pragma unroll
    for (int j = 0; j < 12; ++j) x[j] = static_cast<float>(threadIdx.x + 3 * j) * 0.001F;
#pragma unroll 4
    for (int i = 0; i < 3000; ++i) {
#pragma unroll
        for (int j = 0; j < 12; ++j) x[j] = fmaf(x[j], 0.75F, 0.125F);
    }
    float sum = 0.0F;
#pragma unroll
    for (int j = 0; j < 12; ++j) sum += x[j];
    out[first_index()] = sum;
}
__global__ void __launch_bounds__(512) e02(double* out) {
    double x[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] = static_cast<double>(threadIdx.x + 3 * j) * 0.001;
#pragma unroll 4
    for (int i = 0; i < 2000; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = fma(x[j], 0.75, 0.125);
    }
    double sum = 0.0;
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += x[j];
    out[first_index()] = sum;
}
__global__ void e03(const uint4* in, uint4* out) {
    const std::size_t first = blockIdx.x * std::size_t{1024} + threadIdx.x;
    uint4 v[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) v[j] = in[first + 256 * j];
#pragma unroll
    for (int j = 0; j < 4; ++j) out[first + 256 * j] = v[j];
}
__global__ void e04(const float4* in, float4* out, std::size_t count) {
#pragma unroll 2
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 a = in[i];
        const float4 b = in[i + count];
        const float4 c = in[i + 2 * count];
        out[i] = {a.x + b.x + c.x, a.y + b.y + c.y, a.z + b.z + c.z, a.w + b.w + c.w};
    }
}
__global__ void e05(const float4* in, float4* out) {
    __shared__ float part[8];
    const float4* const row = in + std::size_t{blockIdx.x} * 1024;
    float4 v[4];
    float sum = 0.0F;
#pragma unroll
    for (int j = 0; j < 4; ++j) v[j] = row[threadIdx.x + 256 * j];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        v[j] = {__expf(v[j].x), __expf(v[j].y), __expf(v[j].z), __expf(v[j].w)};
        sum += v[j].x + v[j].y + v[j].z + v[j].w;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    float all = 0.0F;
#pragma unroll
    for (int w = 0; w < 8; ++w) all += part[w];
    const float scale = __fdividef(1.0F, all);
    float4* const result = out + std::size_t{blockIdx.x} * 1024;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        result[threadIdx.x + 256 * j] = {v[j].x * scale, v[j].y * scale, v[j].z * scale,
                                         v[j].w * scale};
    }
}
__global__ void e06(const uint2* in, float4* out, std::size_t count) {
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const uint2 four = in[i];
        const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&four.x));
        const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&four.y));
        out[i] = {low.x, low.y, high.x, high.y};
    }
}

}  // namespace

std::vector<Launch> third_healthy_launches() {
    return {
        {"e01", [](const Memory& m) { e01<<<multiprocessors * 12, 512>>>(m.out); }},
        {"e02", [](const Memory& m) { e02<<<multiprocessors * 12, 512>>>(out_words<double>(m)); }},
        {"e03",
         [](const Memory& m) {
             e03<<<floats / 4 / 1024, threads>>>(in_words<uint4>(m), out_words<uint4>(m));
         }},
        {"e04",
         [](const Memory& m) {
             e04<<<full, threads>>>(in_words<float4>(m), out_words<float4>(m), floats / 16);
         }},
        {"e05",
         [](const Memory& m) {
             e05<<<floats / 4096, threads>>>(in_words<float4>(m), out_words<float4>(m));
         }},
        {"e06",
         [](const Memory& m) {
             e06<<<full, threads>>>(in_words<uint2>(m), out_words<float4>(m), floats / 4);
         }},
    };
}

}  // namespace planted
