// Geometry of the bundled kernels of access patterns: strided and misaligned reads, bank conflicts,
// divergent branches, pointer chases, repeated reads.
//
//   word_read_grid(1 << 20, 132).blocks()       // 512 tiles of 2048 words
//
// Method: the blocks of a read take tiles in turn, with as many blocks as the multiprocessors hold.
// A thread of a divergent kernel has one element. A chase is one thread. Blocks that reread a
// buffer share a fixed number of tiles, and each starts at a different place.
//
// Limits: `read_blocks_per_sm` blocks fill the threads of sm_80 and sm_90.
#pragma once

#include <algorithm>

#include "model/bundled/launch_grid.h"

namespace ridge::model::bundled {

inline constexpr std::int32_t access_unroll = 8;  ///< loads of a thread in flight

inline constexpr std::int32_t read_tile = 2048;  ///< words that a block reads at once
inline constexpr std::int32_t read_threads = read_tile / access_unroll;
inline constexpr std::int32_t read_blocks_per_sm = 8;

inline constexpr std::int32_t shared_tile = 4096;  ///< the same, of shared memory
inline constexpr std::int32_t chip_threads = shared_tile / access_unroll;
inline constexpr std::int32_t chip_blocks_per_sm = 4;
/// Rows of 32 words that conflicting reads reach, by warp, way and load.
inline constexpr std::int32_t conflict_rows = 8 + 32 + access_unroll;

/// FMA that each path of a divergent kernel runs.
inline constexpr std::int64_t divergent_steps = 512;

inline constexpr std::int64_t chase_line = 128;  ///< bytes from one pointer of a chase to the next

/// Pointers that a chase through `bytes` follows: more when they are quick, so that the first walk
/// through the L1 does not count.
[[nodiscard]] constexpr std::int64_t chase_loads(std::int64_t bytes) {
    return bytes <= (1 << 20) ? 1 << 18 : 1 << 15;
}

inline constexpr std::int64_t reread_bytes = std::int64_t{1} << 31;  ///< by all threads together
/// Bytes that a block of `chip_threads` reads at once.
inline constexpr std::int64_t reread_tile = std::int64_t{chip_threads} * access_unroll * 16;

[[nodiscard]] constexpr LaunchGrid reread_grid(std::int64_t sm_count) {
    return {.x = sm_count * chip_blocks_per_sm,
            .threads = chip_threads,
            .shared_bytes = reduction_bytes(4)};
}

[[nodiscard]] constexpr LaunchGrid word_read_grid(std::int64_t words, std::int64_t sm_count) {
    return {.x = std::min(ceil_divide(words, read_tile), sm_count * read_blocks_per_sm),
            .threads = read_threads,
            .shared_bytes = reduction_bytes(4)};
}

[[nodiscard]] constexpr LaunchGrid bank_conflict_grid(std::int64_t words, std::int64_t sm_count) {
    return {.x = std::min(ceil_divide(words, shared_tile), sm_count * chip_blocks_per_sm),
            .threads = chip_threads,
            .shared_bytes = conflict_rows * warp_threads * 4 + reduction_bytes(4)};
}

[[nodiscard]] constexpr LaunchGrid divergence_grid(std::int64_t elements) {
    return {.x = ceil_divide(elements, chip_threads), .threads = chip_threads};
}

}  // namespace ridge::model::bundled
