// Cost of access patterns: strided and misaligned reads of global memory, bank conflicts in shared
// memory, divergent branches.
//
// Method: each kernel does one thing badly by a known amount and everything else well.
//   WordRead      reads word i at offset + i x stride, with 8 loads in flight per thread, bypassing
//                 L1; resident blocks take tiles in turn and sum their words modulo 2^32
//   BankConflict  a warp reads 32 words of shared memory, `ways` of them from each bank that it
//                 uses; resident blocks read the same words repeatedly
//   Divergence    neighbouring threads take one of `paths` code paths in turn, each `steps` FMA
//
// Example: WordRead{.source = d, .partial_sums = p, .words = n, .stride = 8} moves 32 bytes for
// each word of 4 bytes.
// Units: words; the source has offset + (words - 1) x stride + 1 of them.
// Limits: words of 1, 2, 4 or 8 bytes; ways and paths 1 to 32 (std::invalid_argument otherwise).
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"
#include "model/bundled/access.h"

namespace ridge::measure::cuda {

struct WordRead {
    const void* source = nullptr;           // 128-byte aligned
    std::uint32_t* partial_sums = nullptr;  // one per block
    std::int64_t words = 0;
    std::int64_t stride = 1;
    std::int64_t offset = 0;
    int word_bytes = 4;
    int multiprocessors = 132;
};

struct BankConflict {
    std::uint32_t* partial_sums = nullptr;  // one per block
    std::int64_t words = 0;                 // read by all threads together
    int ways = 1;
    int multiprocessors = 132;
};

struct Divergence {
    float* output = nullptr;  // one per thread
    std::int64_t elements = 0;
    int paths = 1;
    int steps = bundled::divergent_steps;  // FMA per path and thread
};

// Factor and addend of the FMA that path `path` iterates from x = 1.
[[nodiscard]] __host__ __device__ constexpr float path_factor(int path) {
    return 0.5F + static_cast<float>(path) / 128.0F;
}
[[nodiscard]] __host__ __device__ constexpr float path_term(int path) {
    return 0.25F + static_cast<float>(path) / 64.0F;
}

// Shared-memory word that thread `thread` reads in load `load` (0 to 7) of every tile; it holds
// hash_word of its index (on_chip.h).
[[nodiscard]] __host__ __device__ constexpr int conflict_word(int thread, int load, int ways) {
    const int lane = thread % 32;
    return (lane % ways + thread / 32 % 8 + load) * 32 + lane / ways;
}

// What a word adds to the sum: its bits; of 8 bytes, the upper half is added to the lower half.
[[nodiscard]] __host__ __device__ constexpr std::uint32_t folded(std::uint64_t word) {
    return static_cast<std::uint32_t>(word) + static_cast<std::uint32_t>(word >> 32);
}

[[nodiscard]] Launch launch_of(const WordRead& read);
[[nodiscard]] Launch launch_of(const BankConflict& conflict);
[[nodiscard]] Launch launch_of(const Divergence& divergence);
[[nodiscard]] constexpr bundled::LaunchGrid grid_of(const WordRead& read) {
    return bundled::word_read_grid(read.words, read.multiprocessors);
}
[[nodiscard]] constexpr bundled::LaunchGrid grid_of(const BankConflict& conflict) {
    return bundled::bank_conflict_grid(conflict.words, conflict.multiprocessors);
}
[[nodiscard]] constexpr bundled::LaunchGrid grid_of(const Divergence& divergence) {
    return bundled::divergence_grid(divergence.elements);
}

}  // namespace ridge::measure::cuda
