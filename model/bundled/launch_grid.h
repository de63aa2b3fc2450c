// The launch parameters of a bundled kernel, and the units that all bundled kernels count in.
//
//   constexpr MatmulExtents product{.m = 4096, .n = 4096, .k = 4096};
//   static_assert(matmul_grid(matmul_mma_sync, product, 132).blocks() == 1024);
//
// Method: the headers of this folder are plain data and constexpr functions. The model predicts
// with them, and the kernels in measure/cuda are instantiated and launched with them, so each tile,
// split or grid is defined only once. A test compares them with the launches in the committed
// records.
//
// Limits: nothing here depends on CUDA. Shared memory is in bytes, static and dynamic together.
#pragma once

#include <cstdint>

#include "hardware/checked.h"

namespace ridge::model::bundled {

inline constexpr std::int32_t warp_threads = 32;
inline constexpr std::int32_t vector_bytes = 16;  ///< of the widest access of a thread

/// A grid of blocks, and the resources of each block.
struct LaunchGrid {
    std::int64_t x = 1;
    std::int64_t y = 1;
    std::int64_t z = 1;
    std::int32_t threads = 0;       ///< of a block
    std::int64_t shared_bytes = 0;  ///< of a block

    [[nodiscard]] constexpr std::int64_t blocks() const { return x * y * z; }

    friend constexpr bool operator==(const LaunchGrid&, const LaunchGrid&) = default;
};

/// `value` rounded up to a multiple of `unit`.
[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
    return ceil_divide(value, unit) * unit;
}

/// Shared memory of a block that reduces values of `bytes` each: one value per possible warp.
[[nodiscard]] constexpr std::int64_t reduction_bytes(std::int64_t bytes) {
    constexpr std::int64_t most_warps = 32;
    return most_warps * bytes;
}

}  // namespace ridge::model::bundled
