// Test data on the GPU; see fill.h.
#include "measure/cuda/kernels/fill.h"

#include <cuda_fp8.h>

#include <algorithm>
#include <stdexcept>

#include "measure/cuda/kernels/vector.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int threads = 256;

template <typename T>
__device__ __forceinline__ T converted(float value) {
    return from_float<T>(value);
}
template <>
__device__ __forceinline__ double converted<double>(float value) {
    return value;
}
template <>
__device__ __forceinline__ __nv_fp8_e4m3 converted<__nv_fp8_e4m3>(float value) {
    return __nv_fp8_e4m3(value);
}
template <>
__device__ __forceinline__ std::int8_t converted<std::int8_t>(float value) {
    return static_cast<std::int8_t>(fminf(fmaxf(rintf(value), -127.0F), 127.0F));
}

template <FillPattern pattern>
__device__ __forceinline__ float4 four_values(std::int64_t counter, std::uint64_t seed,
                                              float scale) {
    if constexpr (pattern == FillPattern::constant) return make_float4(scale, scale, scale, scale);
    const PhiloxWords words = philox(static_cast<std::uint64_t>(counter), seed);
    if constexpr (pattern == FillPattern::uniform) {
        const auto spread = [scale](std::uint32_t word) {
            return (2.0F * uniform_of(word) - 1.0F) * scale;
        };
        return make_float4(spread(words.word[0]), spread(words.word[1]), spread(words.word[2]),
                           spread(words.word[3]));
    } else {
        const auto pair = [scale](std::uint32_t first, std::uint32_t second) {
            const float radius = scale * sqrtf(-2.0F * logf(1.0F - uniform_of(first)));
            float sine;
            float cosine;
            sincospif(2.0F * uniform_of(second), &sine, &cosine);
            return make_float2(radius * cosine, radius * sine);
        };
        const float2 low = pair(words.word[0], words.word[1]);
        const float2 high = pair(words.word[2], words.word[3]);
        return make_float4(low.x, low.y, high.x, high.y);
    }
}

template <typename T, FillPattern pattern>
__global__ void fill_kernel(T* destination, std::int64_t elements, float scale,
                            std::uint64_t seed) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) Four {
        T value[4];
    };
    for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
         i * 4 < elements; i += step) {
        const float4 value = four_values<pattern>(i, seed, scale);
        const Four four{{converted<T>(value.x), converted<T>(value.y), converted<T>(value.z),
                         converted<T>(value.w)}};
        if (i * 4 + 4 <= elements) {
            *reinterpret_cast<Four*>(destination + i * 4) = four;
        } else {
#pragma unroll
            for (int j = 0; j < 3; ++j) {
                if (i * 4 + j < elements) destination[i * 4 + j] = four.value[j];
            }
        }
    }
}

template <typename T>
Launch with_type(const Fill& fill) {
    const auto kernel = fill.pattern == FillPattern::normal ? fill_kernel<T, FillPattern::normal>
                        : fill.pattern == FillPattern::uniform
                            ? fill_kernel<T, FillPattern::uniform>
                            : fill_kernel<T, FillPattern::constant>;
    constexpr std::int64_t most_blocks = 4096;
    const auto blocks =
        static_cast<unsigned>(std::min(ceil_div(fill.elements, 4 * threads), most_blocks));
    return [=](cudaStream_t stream) {
        kernel<<<blocks, threads, 0, stream>>>(static_cast<T*>(fill.destination), fill.elements,
                                               fill.scale, fill.seed);
        check(cudaGetLastError(), "fill");
    };
}

}  // namespace

Launch launch_of(const Fill& fill) {
    if (fill.elements <= 0) throw std::invalid_argument("fill: elements must be positive");
    switch (fill.type) {
        case ElementType::float64:
            return with_type<double>(fill);
        case ElementType::float32:
        case ElementType::tfloat32:
            return with_type<float>(fill);
        case ElementType::bfloat16:
            return with_type<__nv_bfloat16>(fill);
        case ElementType::float16:
            return with_type<__half>(fill);
        case ElementType::float8_e4m3:
            return with_type<__nv_fp8_e4m3>(fill);
        case ElementType::int8:
            return with_type<std::int8_t>(fill);
    }
    throw std::invalid_argument("fill: unknown element type");
}

}  // namespace ridge::measure::cuda
