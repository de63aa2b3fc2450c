// Counting a matrix product: FLOP, compulsory bytes, traffic of a tiled kernel, tiles and waves.
//
//   const Matmul op{.m = 8192, .n = 128, .k = 8192, .type = DataType::fp16, ...};
//   matmul_work(op).flop() / matmul_work(op).compulsory()    // 124.1 FLOP/B
//   waves_of(tiling({.m=1793,.n=1793,...}, {256,128,32}, 108, 1))  // 120 tiles, 2 waves
//
// Method: docs/model.md equations M1 to M6. These are pure counts; nothing here depends on a clock.
#pragma once

#include <cstdint>

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

/// FLOP (2 batch m n k, plus the epilogue on the vector pipe) and compulsory bytes (M1, M2). DRAM
/// traffic is set to the compulsory bytes; L2 traffic is left at zero.
[[nodiscard]] Work matmul_work(const Matmul& op, bool on_tensor_cores);

/// Bytes between L2 and SMs of a kernel that computes `tile`-sized blocks of C without sharing
/// between blocks (M3): A is read ceil(n / tile.n) times and B ceil(m / tile.m) times. A 1x1 tile
/// is the untiled product, so tiling divides the operand traffic by the tile edge.
[[nodiscard]] Bytes matmul_tile_traffic(const Matmul& op, const Tile& tile);

/// FLOP of whole tiles and whole 128-byte steps along k, which a library's kernel executes.
[[nodiscard]] Flop library_executed_flop(const Matmul& op, const Tile& tile);

/// Tiles, waves over `sm_count` SMs with `blocks_per_sm` resident blocks, and both quantization
/// efficiencies (M4, M5).
[[nodiscard]] Tiling matmul_tiling(const Matmul& op, const Tile& tile, std::int64_t sm_count,
                                   std::int32_t blocks_per_sm, std::int32_t split = 1);

/// Largest alignment in bytes (1 to 16) that the leading dimensions of A, B and C have in common
/// (M6).
[[nodiscard]] constexpr std::int64_t matmul_alignment(const Matmul& op) {
    constexpr auto leading = [](std::int64_t rows, std::int64_t cols, Layout layout) {
        return layout == Layout::row_major ? cols : rows;
    };
    const std::int64_t a = bytes_of(op.type, leading(op.m, op.k, op.a_layout));
    const std::int64_t b = bytes_of(op.type, leading(op.k, op.n, op.b_layout));
    const std::int64_t c = op.n * size_of(op.output);
    const std::int64_t all = a | b | c | 16;  // its lowest bit is that of the least aligned
    return all & -all;
}
/// The same for the choice of kernels: a single column has no rows, so it counts as 16.
[[nodiscard]] constexpr std::int64_t row_alignment(const Matmul& op) {
    return op.n == 1 ? 16 : matmul_alignment(op);
}

}  // namespace ridge::model
