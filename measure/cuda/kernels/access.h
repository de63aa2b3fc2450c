// What access patterns cost: strided and misaligned reads of global memory, bank conflicts in
// shared memory, divergent branches.
//
// Method: each kernel does one thing badly by a known amount and everything else well.
//   StridedRead     reads `words` 32-bit words, word i at i x stride; 8 loads in flight per thread;
//   sum modulo 2^32 MisalignedRead  reads `words` consecutive words from word `offset` on, so a
//   warp's 128 bytes straddle a line BankConflict    every lane reads shared word lane x stride
//   (plus a moving row), a conflict of degree gcd(stride, 32) Divergence      lanes take one of
//   `paths` code paths (lane modulo paths), each the same number of FMA
//
// Example: StridedRead{.source = d, .partial_sums = p, .words = n, .stride = 4}: 8 useful of each
// 32 bytes moved Units: words of 4 bytes. The strided source holds words x stride words, the
// misaligned one offset + words. Limits: stride 1 to 32 (std::invalid_argument), paths a power of
// two up to 32. Bytes below sector size are counted as sectors.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/clock_span.h"
#include "measure/cuda/kernels/work.h"

namespace ridge::measure::cuda {

struct StridedRead {
    const std::uint32_t* source = nullptr;
    std::uint32_t* partial_sums = nullptr;  // one per block
    std::int64_t words = 0;
    int stride = 1;
};

struct MisalignedRead {
    const std::uint32_t* source = nullptr;  // 128-byte aligned
    std::uint32_t* partial_sums = nullptr;
    std::int64_t words = 0;
    int offset = 0;  // words
};

struct BankConflict {
    std::uint32_t* partial_sums = nullptr;
    ClockSpan* spans = nullptr;  // one per block, or null
    int stride = 1;
    int iterations = 256;
    int multiprocessors = 132;
};

struct Divergence {
    float* output = nullptr;  // one per thread
    ClockSpan* spans = nullptr;
    int paths = 1;
    int iterations = 256;  // FMA per path and thread
    int multiprocessors = 132;
};

inline constexpr int bank_conflict_rows =
    256;  // x 32 words of shared memory, and 8 rows more; word i holds hash_word(i)

// Factor and term of the FMA that path `path` iterates from x = 1.
[[nodiscard]] __host__ __device__ constexpr float path_factor(int path) {
    return 0.5F + static_cast<float>(path) / 128.0F;
}
[[nodiscard]] __host__ __device__ constexpr float path_term(int path) {
    return 0.25F + static_cast<float>(path) / 64.0F;
}

// Shared word that `lane` of warp `warp` reads in load `load` (0 .. 8 iterations - 1) of a
// BankConflict.
[[nodiscard]] __host__ __device__ constexpr int conflict_word(int lane, int warp, int load,
                                                              int stride) {
    return (lane * stride + (warp + load / 8 * 8) * 32) % (bank_conflict_rows * 32) + load % 8 * 32;
}

// 32-byte sectors that the reads touch.
[[nodiscard]] std::int64_t sectors_of(const StridedRead& read);
[[nodiscard]] std::int64_t sectors_of(
    const MisalignedRead& read);  // per warp request, so straddled sectors count twice

[[nodiscard]] Launch launch_of(const StridedRead& read);
[[nodiscard]] Launch launch_of(const MisalignedRead& read);
[[nodiscard]] Launch launch_of(const BankConflict& conflict);
[[nodiscard]] Launch launch_of(const Divergence& divergence);
[[nodiscard]] KernelGeometry geometry_of(const StridedRead& read);
[[nodiscard]] KernelGeometry geometry_of(const MisalignedRead& read);
[[nodiscard]] KernelGeometry geometry_of(const BankConflict& conflict);
[[nodiscard]] KernelGeometry geometry_of(const Divergence& divergence);
[[nodiscard]] KernelWork work_of(const StridedRead& read);
[[nodiscard]] KernelWork work_of(const MisalignedRead& read);
[[nodiscard]] KernelWork work_of(const BankConflict& conflict);
[[nodiscard]] KernelWork work_of(const Divergence& divergence);

}  // namespace ridge::measure::cuda
