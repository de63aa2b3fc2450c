// What both tensor ceilings share: operands, which are pseudo-random normal values (or zeros)
// packed as words of the element type, and the choice of the kernel by type.
//
// Method: a 32-bit mixing hash of the word's index gives four uniform numbers whose centred sum is
// close to normal with standard deviation 1 (Irwin-Hall). tfloat32 keeps float32 bits; int8 is
// scaled by 32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "measure/cuda/kernels/tensor_peak.h"

namespace ridge::measure::cuda {

__device__ __forceinline__ std::uint32_t mix(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ x >> 16;
}

__device__ __forceinline__ float normal_value(std::uint32_t index) {
    const std::uint32_t a = mix(index * 2 + 1);
    const std::uint32_t b = mix(a ^ 0x9e3779b9U);
    const auto sum = static_cast<float>((a & 0xffffU) + (a >> 16) + (b & 0xffffU) + (b >> 16));
    return (sum / 65536.0F - 2.0F) * 1.7320508F;  // four uniforms: mean 2, variance 1/3
}

template <ElementType Type>
__device__ __forceinline__ std::uint32_t operand_bits(float value) {
    if constexpr (Type == ElementType::tfloat32) return __float_as_uint(value);
    if constexpr (Type == ElementType::bfloat16)
        return __bfloat16_as_ushort(__float2bfloat16_rn(value));
    if constexpr (Type == ElementType::float16) return __half_as_ushort(__float2half_rn(value));
    if constexpr (Type == ElementType::float8_e4m3) return __nv_fp8_e4m3(value).__x;
    if constexpr (Type == ElementType::int8)
        return static_cast<std::uint32_t>(__float2int_rn(value * 32.0F)) & 0xffU;
}

template <ElementType Type>
inline constexpr int element_bits = 8 * bytes_per_element(Type);

// Word number `index` of an operand.
template <ElementType Type>
__device__ __forceinline__ std::uint32_t operand_word(std::uint32_t index, OperandPattern pattern) {
    if (pattern == OperandPattern::zeros) return 0;
    constexpr int bits = element_bits<Type>;
    std::uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < 32 / bits; ++i)
        word |= operand_bits<Type>(normal_value(index * 4 + i)) << (i * bits % 32);
    return word;
}

// A launch of `kernel`, whose whole grid does `flop` per iteration.
using TensorPeakKernel = void (*)(int iterations, OperandPattern pattern, float* sink,
                                  long long* cycles);
inline TensorPeak peak_of(const char* name, TensorPeakKernel kernel, const LaunchShape& shape,
                          double flop, const TensorPeakProblem& problem) {
    if (shape.dynamic_shared_bytes > 0) {
        allow_shared_bytes(name, kernel, shape.dynamic_shared_bytes);
    }
    return {.launch =
                [=](cudaStream_t stream) {
                    launch_kernel(name, kernel, shape, stream, static_cast<int>(problem.iterations),
                                  problem.pattern, problem.sink, problem.cycles);
                },
            .flop = flop * static_cast<double>(problem.iterations)};
}

// Calls `build` with the element type as a constant, for the types that are supported here.
template <typename Build>
TensorPeak for_tensor_type(ElementType type, Build build) {
    switch (type) {
        case ElementType::bfloat16:
            return build(std::integral_constant<ElementType, ElementType::bfloat16>{});
        case ElementType::float16:
            return build(std::integral_constant<ElementType, ElementType::float16>{});
        case ElementType::tfloat32:
            return build(std::integral_constant<ElementType, ElementType::tfloat32>{});
        case ElementType::int8:
            return build(std::integral_constant<ElementType, ElementType::int8>{});
        case ElementType::float8_e4m3:
            return build(std::integral_constant<ElementType, ElementType::float8_e4m3>{});
        default:
            break;
    }
    throw std::runtime_error(
        "tensor_peak: the tensor cores take bfloat16, float16, tfloat32, float8_e4m3 and int8 "
        "here");
}

}  // namespace ridge::measure::cuda
