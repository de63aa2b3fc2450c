// wgmma: one warpgroup (128 threads) multiplies a 64 x K tile by a K x N tile asynchronously, with
// B in swizzled shared memory.
//
// Method: `multiply<TileN>(accumulators, A, B, accumulate)` issues one instruction of K = 32 bytes
// (16 two-byte elements); A is a shared-memory descriptor or register fragments. Around a group of
// them: fence_operands, begin, multiply..., commit; then wait_for<Pending> and fence_operands
// before the accumulators are read.
//
//     fence_operands(acc);
//     begin();
//     for (int i = 0; i < 4; ++i) multiply<256, __nv_bfloat16>(acc, a + 2 * i, b + 2 * i, true);
//     commit();
//     wait_for<0>();
//     fence_operands(acc);
//
// Fragment layout (PTX ISA, wgmma register fragments): thread t of the warpgroup holds rows 16 * (t
// / 32) + (t % 32) / 4 and that plus 8; acc[4 j + {0, 1}] are columns 8 j + 2 (t % 4) + {0, 1} of
// the first row, acc[4 j + {2, 3}] those of the second.
//
// Limits: sm_90a only; TileN of 64, 128, 176 or 256. The macros exist because an asm template must
// be a literal and each accumulator register must be a separate operand.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "measure/cuda/kernels/hopper.cuh"

namespace ridge::measure::cuda::hopper {

// ---- shared-memory descriptors (PTX ISA, matrix descriptor format), all for the 128-byte swizzle

inline constexpr std::uint64_t swizzle_128_bytes = std::uint64_t{1} << 62;

__device__ __forceinline__ std::uint64_t matrix_descriptor(const void* tile,
                                                           std::uint32_t leading_bytes,
                                                           std::uint32_t stride_bytes) {
    return swizzle_128_bytes | static_cast<std::uint64_t>((shared_address(tile) & 0x3FFFF) >> 4) |
           static_cast<std::uint64_t>(leading_bytes >> 4) << 16 |
           static_cast<std::uint64_t>(stride_bytes >> 4) << 32;
}

// Tile whose rows are contiguous in K: rows of 128 bytes (64 elements of K), groups of 8 rows 1024
// bytes apart. The next 16 elements of K are 32 bytes further: descriptor + 2.
__device__ __forceinline__ std::uint64_t k_major_descriptor(const void* tile) {
    return matrix_descriptor(tile, 16, 1024);
}
inline constexpr std::uint64_t k_major_step = 32 >> 4;

// Tile whose rows are contiguous in N: boxes of [k][64 n], `box_bytes` apart; groups of 8 k 1024
// bytes apart. The next 16 elements of K are 16 rows further: descriptor + 128.
__device__ __forceinline__ std::uint64_t n_major_descriptor(const void* tile,
                                                            std::uint32_t box_bytes) {
    return matrix_descriptor(tile, box_bytes, 1024);
}
inline constexpr std::uint64_t n_major_step = (16 * 128) >> 4;

// ---- ordering

// Keeps the compiler from moving accesses of these registers across this point.
template <typename Word, int Count>
__device__ __forceinline__ void fence_operands(Word (&words)[Count]) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        if constexpr (std::is_same_v<Word, float>)
            asm volatile("" : "+f"(words[i])::"memory");
        else
            asm volatile("" : "+r"(words[i])::"memory");
    }
}

__device__ __forceinline__ void begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int Pending>
__device__ __forceinline__ void wait_for() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// ---- the instruction

enum class Major { k, n };  // which dimension of B is contiguous in shared memory

#define RIDGE_D8(d, i)                                                                          \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define RIDGE_D32(d, i) RIDGE_D8(d, i), RIDGE_D8(d, i + 8), RIDGE_D8(d, i + 16), RIDGE_D8(d, i + 24)
#define RIDGE_D64(d, i) RIDGE_D32(d, i), RIDGE_D32(d, i + 32)

#define RIDGE_R32                                                                                \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
    "%20, %21, %22, %23, %24, "                                                                  \
    "%25, %26, %27, %28, %29, %30, %31"
#define RIDGE_R64                                                                                  \
    RIDGE_R32                                                                                      \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
    "%50, %51, %52, %53, %54, "                                                                    \
    "%55, %56, %57, %58, %59, %60, %61, %62, %63"
#define RIDGE_R88                                                                                  \
    RIDGE_R64                                                                                      \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, " \
    "%82, %83, %84, %85, %86, "                                                                    \
    "%87"
#define RIDGE_R128                                                                                 \
    RIDGE_R88                                                                                      \
    ", %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, " \
    "%105, %106, %107, %108, "                                                                     \
    "%109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, "   \
    "%124, %125, %126, %127"

// A and B from shared memory: operands after the accumulators are A, B, accumulate, transpose-B.
#define RIDGE_WGMMA_SHARED(n, types, registers, outputs, pa, pb, pc, pt)                        \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " pc                                     \
                 ", 0;\n\t"                                                                     \
                 "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." types " {" registers "}, " pa \
                 ", " pb ", p, 1, 1, 0, " pt ";\n\t}"                                           \
                 : outputs                                                                      \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(transpose))

// A from registers: operands after the accumulators are four words of A, B, accumulate,
// transpose-B.
#define RIDGE_WGMMA_REGISTERS(n, types, registers, outputs, pa, pb, pc, pt)                       \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " pc                                       \
                 ", 0;\n\t"                                                                       \
                 "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." types " {" registers "}, {" pa  \
                 "}, " pb ", p, 1, 1, " pt ";\n\t}"                                               \
                 : outputs                                                                        \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(static_cast<int>(accumulate)), \
                   "n"(transpose))

#define RIDGE_WGMMA_BOTH_TYPES(form, n, registers, outputs, pa, pb, pc, pt)  \
    if constexpr (std::is_same_v<Element, __nv_bfloat16>) {                  \
        form(n, "bf16.bf16", registers, RIDGE_PASS outputs, pa, pb, pc, pt); \
    } else {                                                                 \
        form(n, "f16.f16", registers, RIDGE_PASS outputs, pa, pb, pc, pt);   \
    }
#define RIDGE_PASS(...) __VA_ARGS__

// acc (64 x TileN) = A (64 x 16, K-major, shared) * B (16 x TileN, shared) + (accumulate ? acc :
// 0).
template <int TileN, typename Element, Major BMajor = Major::k>
__device__ __forceinline__ void multiply(float (&acc)[TileN / 2], std::uint64_t a, std::uint64_t b,
                                         bool accumulate) {
    constexpr int transpose = BMajor == Major::n ? 1 : 0;
    static_assert(TileN == 64 || TileN == 128 || TileN == 176 || TileN == 256);
    if constexpr (TileN == 64) {
        RIDGE_WGMMA_BOTH_TYPES(RIDGE_WGMMA_SHARED, "64", RIDGE_R32, (RIDGE_D32(acc, 0)), "%32",
                               "%33", "%34", "%35")
    } else if constexpr (TileN == 128) {
        RIDGE_WGMMA_BOTH_TYPES(RIDGE_WGMMA_SHARED, "128", RIDGE_R64, (RIDGE_D64(acc, 0)), "%64",
                               "%65", "%66", "%67")
    } else if constexpr (TileN == 176) {
        RIDGE_WGMMA_BOTH_TYPES(
            RIDGE_WGMMA_SHARED, "176", RIDGE_R88,
            (RIDGE_D64(acc, 0), RIDGE_D8(acc, 64), RIDGE_D8(acc, 72), RIDGE_D8(acc, 80)), "%88",
            "%89", "%90", "%91")
    } else {
        RIDGE_WGMMA_BOTH_TYPES(RIDGE_WGMMA_SHARED, "256", RIDGE_R128,
                               (RIDGE_D64(acc, 0), RIDGE_D64(acc, 64)), "%128", "%129", "%130",
                               "%131")
    }
}

// The same with A in registers: a0, a2 hold the first row's columns 2 (t % 4) + {0, 1} and those
// plus 8; a1, a3 the second row's.
template <int TileN, typename Element, Major BMajor = Major::k>
__device__ __forceinline__ void multiply(float (&acc)[TileN / 2], std::uint32_t a0,
                                         std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                                         std::uint64_t b, bool accumulate) {
    constexpr int transpose = BMajor == Major::n ? 1 : 0;
    static_assert(TileN == 64 || TileN == 128);
    if constexpr (TileN == 64) {
        RIDGE_WGMMA_BOTH_TYPES(RIDGE_WGMMA_REGISTERS, "64", RIDGE_R32, (RIDGE_D32(acc, 0)),
                               "%32, %33, %34, %35", "%36", "%37", "%38")
    } else {
        RIDGE_WGMMA_BOTH_TYPES(RIDGE_WGMMA_REGISTERS, "128", RIDGE_R64, (RIDGE_D64(acc, 0)),
                               "%64, %65, %66, %67", "%68", "%69", "%70")
    }
}

#undef RIDGE_WGMMA_SHARED
#undef RIDGE_WGMMA_REGISTERS
#undef RIDGE_WGMMA_BOTH_TYPES
#undef RIDGE_PASS

// ---- fragments to memory

template <typename Element>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t word;
    if constexpr (std::is_same_v<Element, __nv_bfloat16>)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

// Writes Columns (a multiple of 64) columns of a warpgroup's accumulators, from `first`, as
// two-byte elements into swizzled boxes of [64 rows][64 columns], one after the other from `boxes`.
template <typename Element, int Columns, int Count>
__device__ __forceinline__ void store_fragments(unsigned char* boxes, const float (&acc)[Count],
                                                int first, float scale_row0, float scale_row1) {
    const int thread = static_cast<int>(threadIdx.x) % warpgroup_threads;
    const int lane = thread % 32;
    const int row = thread / 32 * 16 + lane % 16;
#pragma unroll
    for (int column = 0; column < Columns; column += 16) {
        const int i = (first + column) / 2;
        const std::uint32_t words[4] = {
            pack<Element>(acc[i] * scale_row0, acc[i + 1] * scale_row0),
            pack<Element>(acc[i + 2] * scale_row1, acc[i + 3] * scale_row1),
            pack<Element>(acc[i + 4] * scale_row0, acc[i + 5] * scale_row0),
            pack<Element>(acc[i + 6] * scale_row1, acc[i + 7] * scale_row1)};
        unsigned char* const box = boxes + column / 64 * (64 * 128);
        store_matrices(shared_address(box) + swizzled_offset(row, column % 64 / 8 + lane / 16),
                       words);
    }
}

}  // namespace ridge::measure::cuda::hopper
