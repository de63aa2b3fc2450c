// Products of few rows in fp32, or of misaligned rows in 16 bits, as cuBLAS runs them for PyTorch:
// special kernels (gemv, gemmSN) that read B once and hold every row of A, instead of tiles.
//
//   const FewRows kernel = few_rows_kernel(situation);
//   if (kernel != FewRows::tiles) const MatmulTime t = few_rows_time(situation, kernel);
//
// Method (equation M26 of docs/model.md). Layout, rows and extents determine the kernel: by rules
// that were read off the kernels' recorded names, or it is the one that takes the least time. A
// matrix times a vector reads B at nearly the rate of DRAM. If B is stored by columns, a block of
// 128 threads forms eight columns as dot products, with k divided among the lanes. If it is stored
// by rows, a block forms 64 columns and its threads walk along k. Some small products are cut along
// k into more parts than there are steps; adding up the parts then takes all the time.
// Limits: clocks are those of an H200 and an H100.
#pragma once

#include "model/matmul/time.h"

namespace ridge::model {

/// Kernels that a product of few rows runs; `tiles` are the library's usual ones. In 16 bits, tiles
/// that hold all rows take k `whole` or in `parts` that a second kernel sums, or work without
/// tensor cores (`lanes`).
enum class FewRows : std::uint8_t {
    tiles,
    vector,
    dots,
    walk,
    fine_splits,
    slices,
    whole,
    parts,
    lanes
};

/// The kernel of a product in fp32, in tf32 with one row, or in 16 bits with rows that are not
/// multiples of 16 bytes. The machine must have `model.torch` and `torch_product`.
[[nodiscard]] FewRows few_rows_kernel(const MatmulSituation& situation);

/// The machine must have `model.torch` and `torch_product`; the kernel must not be `tiles`.
[[nodiscard]] MatmulTime few_rows_time(const MatmulSituation& situation, FewRows kernel);

}  // namespace ridge::model
