// Geometry of the bundled matrix-product kernels: tiles, threads, shared memory, grids.
//
//   constexpr MatmulExtents product{.m = 4096, .n = 4096, .k = 4096};
//   wgmma_for(product, 132).tile.n                                // 256
//   matmul_grid(wgmma_for(product, 132), product, 132).blocks()   // 132
//
// Method: a kernel divides C into units: one block each, or one cluster of blocks below each other.
// Units are laid out side by side in the grid (columns), walked in groups of rows of tiles, so that
// the blocks in flight share operands in L2 (groups), or taken in turn by as many clusters as fit
// (persistent).
//
// Limits: `blocks_per_sm` is what registers and shared memory allow on sm_80 and sm_90.
#pragma once

#include <algorithm>

#include "model/bundled/launch_grid.h"
#include "model/core/implementation.h"

namespace ridge::model::bundled {

struct MatmulExtents {
    std::int64_t m = 1;
    std::int64_t n = 1;
    std::int64_t k = 1;
    std::int64_t batch = 1;
};

enum class MatmulWalk : std::uint8_t { columns, groups, persistent };

struct MatmulKernel {
    Tile tile;  ///< of one block
    std::int32_t threads = 0;
    std::int32_t stages = 1;         ///< slices along k in shared memory
    std::int32_t blocks_per_sm = 1;  ///< that share a multiprocessor
    std::int64_t shared_bytes = 0;
    MatmulWalk walk = MatmulWalk::columns;
    std::int32_t group_rows = 0;  ///< units that are walked together; 0: all
    std::int32_t cluster = 1;     ///< blocks, along m, that share B
};

/// One thread per element of C.
inline constexpr MatmulKernel matmul_naive{
    .tile = {.m = 16, .n = 16, .k = 1}, .threads = 256, .blocks_per_sm = 8};
inline constexpr MatmulKernel matmul_coalesced{
    .tile = {.m = 8, .n = 32, .k = 1}, .threads = 256, .blocks_per_sm = 8};
/// A and B of one step in shared memory, fp32.
inline constexpr MatmulKernel matmul_shared_tiled{.tile = {.m = 32, .n = 32, .k = 32},
                                                  .threads = 1024,
                                                  .blocks_per_sm = 2,
                                                  .shared_bytes = 2 * 32 * 32 * 4};

/// Elements by which a row of A, which is stored transposed, is longer than the tile.
inline constexpr std::int32_t register_tiled_padding = 4;
inline constexpr MatmulKernel matmul_register_tiled{
    .tile = {.m = 128, .n = 128, .k = 8},
    .threads = 256,
    .stages = 2,
    .blocks_per_sm = 2,
    .shared_bytes = 2 * 8 * (128 + register_tiled_padding + 128) * 4,
    .walk = MatmulWalk::groups,
    .group_rows = 8};

/// Operands whose rows are whole vectors of fp32 are loaded as vectors, others by elements.
[[nodiscard]] constexpr bool in_float_vectors(std::int64_t row_elements) {
    return row_elements % (vector_bytes / 4) == 0;
}

/// If both operands are loaded by elements, the kernel needs more registers than two blocks can
/// have.
[[nodiscard]] constexpr std::int32_t register_tiled_blocks_per_sm(bool vector_a, bool vector_b) {
    return vector_a || vector_b ? matmul_register_tiled.blocks_per_sm : 1;
}

inline constexpr MatmulKernel matmul_mma_sync{.tile = {.m = 128, .n = 128, .k = 32},
                                              .threads = 128,
                                              .stages = 4,
                                              .blocks_per_sm = 2,
                                              .shared_bytes = 4 * (128 + 128) * 32 * 2,
                                              .walk = MatmulWalk::groups,
                                              .group_rows = 8};

inline constexpr std::int32_t wgmma_warpgroup = 128;      ///< threads
inline constexpr std::int32_t wgmma_warpgroup_rows = 64;  ///< of C
/// Columns of C that a warpgroup stages at a time before they are stored.
inline constexpr std::int32_t wgmma_output_columns = 128;

/// A producer and two consumers of 64 rows each. Shared memory holds the stages of A and B, two
/// barriers of each stage, and the result before it is stored, in whole KiB for the copy engine.
[[nodiscard]] constexpr MatmulKernel matmul_wgmma(std::int32_t columns, std::int32_t stages) {
    constexpr std::int32_t rows = 128;
    constexpr std::int32_t depth = 64;
    constexpr std::int32_t consumers = rows / wgmma_warpgroup_rows;
    constexpr std::int64_t element = 2;
    constexpr std::int64_t barriers = 2 * 8;
    constexpr std::int64_t output = rows * wgmma_output_columns * element;
    const std::int64_t stage = (rows + columns) * depth * element + barriers;
    return {.tile = {.m = rows, .n = columns, .k = depth},
            .threads = (1 + consumers) * wgmma_warpgroup,
            .stages = stages,
            .shared_bytes = rounded_up(stages * stage + output, 1024),
            .walk = MatmulWalk::persistent,
            .group_rows = 8,
            .cluster = 2};
}
inline constexpr MatmulKernel matmul_wgmma_large = matmul_wgmma(256, 4);
inline constexpr MatmulKernel matmul_wgmma_small = matmul_wgmma(128, 6);

/// Units of C along m: blocks, or clusters of them.
[[nodiscard]] constexpr std::int64_t units_down(const MatmulKernel& kernel, std::int64_t m) {
    return ceil_divide(m, std::int64_t{kernel.tile.m} * kernel.cluster);
}
[[nodiscard]] constexpr std::int64_t units_across(const MatmulKernel& kernel, std::int64_t n) {
    return ceil_divide(n, kernel.tile.n);
}
[[nodiscard]] constexpr std::int64_t units_of(const MatmulKernel& kernel,
                                              const MatmulExtents& extents) {
    return extents.batch * units_down(kernel, extents.m) * units_across(kernel, extents.n);
}
/// Slices along k.
[[nodiscard]] constexpr std::int64_t steps_of(const MatmulKernel& kernel, std::int64_t k) {
    return ceil_divide(k, std::max(1, kernel.tile.k));
}

/// Units that run at once when each multiprocessor has one block.
[[nodiscard]] constexpr std::int64_t slots_of(const MatmulKernel& kernel, std::int64_t sm_count) {
    return std::max<std::int64_t>(1, sm_count / kernel.cluster);
}

/// The tile with the shorter rounds. The large tile takes 1.9 times as long as the small one, whose
/// operands are a third more per FLOP.
[[nodiscard]] constexpr const MatmulKernel& wgmma_for(const MatmulExtents& extents,
                                                      std::int64_t sm_count) {
    constexpr double large_tile_cost = 1.9;
    const auto rounds = [&](const MatmulKernel& kernel) {
        return static_cast<double>(
            ceil_divide(units_of(kernel, extents), slots_of(kernel, sm_count)));
    };
    const bool large = large_tile_cost * rounds(matmul_wgmma_large) <= rounds(matmul_wgmma_small);
    return large ? matmul_wgmma_large : matmul_wgmma_small;
}

[[nodiscard]] constexpr LaunchGrid matmul_grid(const MatmulKernel& kernel,
                                               const MatmulExtents& extents,
                                               std::int64_t sm_count) {
    const std::int64_t down = units_down(kernel, extents.m);
    const std::int64_t across = units_across(kernel, extents.n);
    LaunchGrid grid{.threads = kernel.threads, .shared_bytes = kernel.shared_bytes};
    switch (kernel.walk) {
        case MatmulWalk::columns:
            grid.x = down;
            grid.y = across;
            grid.z = extents.batch;
            break;
        case MatmulWalk::groups:
            grid.x = down * across;
            grid.y = extents.batch;
            break;
        case MatmulWalk::persistent:
            grid.x = kernel.cluster *
                     std::min(extents.batch * down * across, slots_of(kernel, sm_count));
            break;
    }
    return grid;
}

}  // namespace ridge::model::bundled
