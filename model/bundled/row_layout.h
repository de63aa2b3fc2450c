// How the bundled row kernels lay rows over warps and blocks (measure/cuda/kernels/row_plan.h):
// what their times and their traffic both go by.
#pragma once

#include <cstdint>

namespace ridge::model {

inline constexpr double rows_per_block = 8.0;              ///< where a warp has a row
inline constexpr std::int64_t longest_summed_row = 8192;   ///< bytes, of a warp that adds it up
inline constexpr std::int64_t longest_row_of_warp = 2048;  ///< bytes, in the registers of a warp

/// Bytes of the longest row that a block holds in registers, of elements of `element` bytes.
[[nodiscard]] constexpr std::int64_t longest_held_row(std::int64_t element) {
    constexpr std::int64_t threads = 1024;
    constexpr std::int64_t vector = 16;  // bytes
    return (element == 2 ? 4 : 8) * threads * vector;
}

/// Threads of a block that reads its row twice, in vectors or by elements.
[[nodiscard]] constexpr double threads_reading_twice(bool vectors, double columns) {
    if (vectors) return 1024.0;
    return columns <= 1024.0 ? 128.0 : 512.0;
}

}  // namespace ridge::model
