// Sums and other merges across a warp and a block.
//
// Method: butterfly shuffles inside the warp, one value per warp through shared memory, then every
// warp merges all warps' values again, so that each thread holds the result after a single barrier.
// The merge is a commutative function object.
//
// Example: const float total = reduce_block<threads>(mine, Add{}, 0.0F, scratch);
// Limits: `scratch` holds 32 values and may not be reused before the next barrier of the caller.
#pragma once

#include <cstdint>

namespace ridge::measure::cuda {

struct Add {
    template <typename T>
    __device__ __forceinline__ T operator()(T left, T right) const {
        return left + right;
    }
};

struct Maximum {
    __device__ __forceinline__ float operator()(float left, float right) const {
        return fmaxf(left, right);
    }
};

template <typename T>
__device__ __forceinline__ T shuffle_xor(T value, int mask) {
    static_assert(sizeof(T) % 4 == 0);
    constexpr int words = sizeof(T) / 4;
    union Bits {
        T value;
        std::uint32_t word[words];
        __device__ Bits() {}
    } bits;
    bits.value = value;
#pragma unroll
    for (int i = 0; i < words; ++i) bits.word[i] = __shfl_xor_sync(0xffffffffU, bits.word[i], mask);
    return bits.value;
}

template <typename T, typename Merge>
__device__ __forceinline__ T reduce_warp(T value, Merge merge) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) value = merge(value, shuffle_xor(value, mask));
    return value;
}

template <typename T, typename Merge>
__device__ __forceinline__ T reduce_block(T value, Merge merge, T neutral, T* scratch) {
    value = reduce_warp(value, merge);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warps = static_cast<int>(blockDim.x / 32);
    if (lane == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    return reduce_warp(lane < warps ? scratch[lane] : neutral, merge);
}

}  // namespace ridge::measure::cuda
