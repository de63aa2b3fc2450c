// The tensor cores from sm_80 on: warp-wide mma.sync, ldmatrix and cp.async, and a swizzle that
// avoids bank conflicts.
//
// Method: a warp multiplies 16 x 16 by 16 x 8 two-byte elements per instruction. Fragment layout
// (PTX ISA, mma.m16n8k16): lane t holds of A rows t / 4 and t / 4 + 8, of C the same rows and
// columns 2 (t % 4) + {0, 1}. ldmatrix loads four 8x8 matrices; lane t gives the address of row t %
// 8 of matrix t / 8.
//
// Limits: sm_80 and newer; bfloat16 and float16 operands, float32 accumulators.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace ridge::measure::cuda::mma {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Copies 16 bytes asynchronously, or writes 16 zero bytes when `in_range` is false (the source is
// then not read).
__device__ __forceinline__ void copy_16_bytes(std::uint32_t destination, const void* source,
                                              bool in_range) {
    const int bytes = in_range ? 16 : 0;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(destination),
                 "l"(source), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `Pending` of this thread's committed groups of copies are incomplete.
template <int Pending>
__device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

__device__ __forceinline__ void load_matrices(std::uint32_t (&words)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&words)[4],
                                                         std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
}

// c (16 x 8) += a (16 x 16) * b (16 x 8).
template <typename Element>
__device__ __forceinline__ void multiply(float (&c)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
    if constexpr (std::is_same_v<Element, __nv_bfloat16>)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, "
            "%7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two floats rounded to two-byte elements, with `low` in the lower half.
template <typename Element>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
    if constexpr (std::is_same_v<Element, __nv_bfloat16>) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
        return reinterpret_cast<const std::uint32_t&>(pair);
    } else {
        const __half2 pair = __floats2half2_rn(low, high);
        return reinterpret_cast<const std::uint32_t&>(pair);
    }
}

template <typename Element>
__device__ __forceinline__ Element round_to(float value) {
    if constexpr (std::is_same_v<Element, __nv_bfloat16>)
        return __float2bfloat16_rn(value);
    else
        return __float2half_rn(value);
}

// Byte offset of 16-byte chunk `chunk` of row `row` in a tile whose rows are RowBytes long (64, or
// a multiple of 128): eight rows at the same chunk fall into eight different bank groups.
template <int RowBytes>
__device__ __forceinline__ std::uint32_t swizzled_offset(int row, int chunk) {
    static_assert(RowBytes == 64 || RowBytes % 128 == 0);
    if constexpr (RowBytes == 64)
        return static_cast<std::uint32_t>(row * RowBytes + ((chunk ^ (row / 2 % 4)) << 4));
    else
        return static_cast<std::uint32_t>(row * RowBytes + ((chunk ^ (row % 8)) << 4));
}

}  // namespace ridge::measure::cuda::mma
