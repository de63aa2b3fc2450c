// Device-side building blocks: 16-byte loads and stores with a cache hint, conversion of packed
// elements to float, sums of words.
//
// Method: a hint is a template parameter, so each kernel instance contains exactly one form of load
// instruction (cached LDG.E.128, streaming .EF, l2_only .STRONG.GPU, sector_prefetch .NA with a
// 256-byte L2 prefetch). Packed<T> is one 16-byte vector of T, read as floats; all arithmetic of
// the row kernels is in float.
//
// Limits: addresses must be 16-byte aligned.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "measure/cuda/kernels/cache_hint.h"

namespace ridge::measure::cuda {

template <CacheHint hint>
__device__ __forceinline__ uint4 load16(const uint4* address) {
    if constexpr (hint == CacheHint::streaming) {
        return __ldcs(address);
    } else if constexpr (hint == CacheHint::l2_only) {
        return __ldcg(address);
    } else if constexpr (hint == CacheHint::sector_prefetch) {
        uint4 value;
        asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                     : "l"(address));
        return value;
    } else {
        return *address;
    }
}

template <CacheHint hint>
__device__ __forceinline__ void store16(uint4* address, uint4 value) {
    if constexpr (hint == CacheHint::streaming) {
        __stcs(address, value);
    } else if constexpr (hint == CacheHint::l2_only) {
        __stcg(address, value);
    } else {
        *address = value;
    }
}

__device__ __forceinline__ std::uint32_t sum_of_words(uint4 value) {
    return value.x + value.y + value.z + value.w;
}

__device__ __forceinline__ float to_float(float value) {
    return value;
}
__device__ __forceinline__ float to_float(__half value) {
    return __half2float(value);
}
__device__ __forceinline__ float to_float(__nv_bfloat16 value) {
    return __bfloat162float(value);
}

template <typename T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) {
    return value;
}
template <>
__device__ __forceinline__ __half from_float<__half>(float value) {
    return __float2half_rn(value);
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
    return __float2bfloat16_rn(value);
}

template <typename T>
struct Packed {
    static constexpr int count = 16 / static_cast<int>(sizeof(T));
};

template <typename T>
__device__ __forceinline__ void unpack(uint4 raw, float (&values)[Packed<T>::count]) {
    if constexpr (sizeof(T) == 4) {
        values[0] = __uint_as_float(raw.x);
        values[1] = __uint_as_float(raw.y);
        values[2] = __uint_as_float(raw.z);
        values[3] = __uint_as_float(raw.w);
    } else {
        const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            float2 pair;
            if constexpr (std::is_same_v<T, __half>) {
                pair = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
            } else {
                pair = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&words[i]));
            }
            values[2 * i] = pair.x;
            values[2 * i + 1] = pair.y;
        }
    }
}

template <typename T>
__device__ __forceinline__ uint4 pack(const float (&values)[Packed<T>::count]) {
    if constexpr (sizeof(T) == 4) {
        return make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                          __float_as_uint(values[2]), __float_as_uint(values[3]));
    } else {
        std::uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if constexpr (std::is_same_v<T, __half>) {
                const __half2 pair = __floats2half2_rn(values[2 * i], values[2 * i + 1]);
                words[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
            } else {
                const __nv_bfloat162 pair = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
                words[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
            }
        }
        return make_uint4(words[0], words[1], words[2], words[3]);
    }
}

}  // namespace ridge::measure::cuda
