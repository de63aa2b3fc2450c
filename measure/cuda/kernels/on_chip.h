// Bandwidth ceilings above DRAM: L2, L1 and shared memory; and of a working set at any level.
//
// Method: every block rereads one buffer in tiles of threads x 8 vectors of 16 bytes and sums the
// words modulo 2^32.
//   L2      all blocks share one buffer of 8 to 40 MB; ld.global.cg; each block starts elsewhere
//   L1      each block has its own small buffer; ld.global.ca
//   shared  each block fills `buffer_bytes` of shared memory with hash_word(i) and rereads it by
//           conflict-free 16-byte LDS; the loads are volatile, at addresses that change with the
//           iteration, so that they cannot be merged
//   reread  all blocks share one buffer through all caches and read `total_bytes` together, each
//           from its own position on, wrapping around at the end of the buffer
//
// `spans` (one per block, may be null) gives the SM clock of the run.
//
// Example: {.bytes = 12 << 20, .plan = {.iterations = 64}} reads the near partition of L2; the
// bytes moved are work_of(read).l2_bytes_read.
// Units: bytes; buffers are whole tiles (tile_bytes), otherwise std::invalid_argument.
// Limits: the first pass over a buffer comes from DRAM or from the next slower level, so make
// `iterations` large.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/clock_span.h"
#include "measure/cuda/kernels/work.h"
#include "model/bundled/access.h"

namespace ridge::measure::cuda {

struct OnChipPlan {
    int threads = 512;
    int multiprocessors = 132;
    int blocks_per_multiprocessor = 4;
    int iterations = 64;  // tiles read by each block
};

struct L2Read {
    const void* source = nullptr;
    std::uint32_t* partial_sums = nullptr;  // one per block
    ClockSpan* spans = nullptr;
    std::int64_t bytes = 0;
    OnChipPlan plan;
};

struct L1Read {
    const void* source = nullptr;  // bytes_per_block for each block
    std::uint32_t* partial_sums = nullptr;
    ClockSpan* spans = nullptr;
    std::int64_t bytes_per_block = 0;
    OnChipPlan plan;
};

struct Reread {
    const void* source = nullptr;
    std::uint32_t* partial_sums = nullptr;  // one per block
    std::int64_t bytes = 0;                 // a multiple of 16, at least one vector per thread
    std::int64_t total_bytes = bundled::reread_bytes;  // whole tiles
    int multiprocessors = 132;
};

struct SharedRead {
    std::uint32_t* partial_sums = nullptr;
    ClockSpan* spans = nullptr;
    int buffer_bytes = 0;  // a power of two, in tiles
    OnChipPlan plan;
};

[[nodiscard]] constexpr int tile_bytes(const OnChipPlan& plan) {
    return plan.threads * 8 * 16;
}

// Word i of the buffer that a shared-memory kernel fills.
[[nodiscard]] __host__ __device__ constexpr std::uint32_t hash_word(std::uint32_t i) {
    return (i * 2654435761U) ^ (i >> 7);
}

[[nodiscard]] Launch launch_of(const L2Read& read);
[[nodiscard]] Launch launch_of(const L1Read& read);
[[nodiscard]] Launch launch_of(const SharedRead& read);
[[nodiscard]] Launch launch_of(const Reread& read);
[[nodiscard]] bundled::LaunchGrid geometry_of(const L2Read& read);
[[nodiscard]] bundled::LaunchGrid geometry_of(const L1Read& read);
[[nodiscard]] bundled::LaunchGrid geometry_of(const SharedRead& read);
[[nodiscard]] KernelWork work_of(const L2Read& read);
[[nodiscard]] KernelWork work_of(const L1Read& read);
[[nodiscard]] KernelWork work_of(const SharedRead& read);

// First vector that block `block` of `blocks` reads. Blocks are evenly spread, so that blocks in
// step never read the same line at once (requests for one line from neighbouring SMs can be merged
// on their way to L2). Each block then reads in order, wrapping around.
[[nodiscard]] __host__ __device__ constexpr std::int64_t first_l2_vector(std::int64_t block,
                                                                         std::int64_t blocks,
                                                                         std::int64_t vectors) {
    return block * vectors / blocks / 32 * 32;
}

// Number of `tiles` that block `block` of `blocks` reads: an equal share, the rest to the first
// blocks.
[[nodiscard]] __host__ __device__ constexpr std::int64_t tiles_of_block(std::int64_t block,
                                                                        std::int64_t blocks,
                                                                        std::int64_t tiles) {
    return tiles / blocks + (block < tiles % blocks ? 1 : 0);
}

}  // namespace ridge::measure::cuda
