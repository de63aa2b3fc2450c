// Products of a few rows in fp32, or of misaligned rows in 16 bits, as cuBLAS runs them for PyTorch:
// special kernels (gemv, gemmSN) that read B once and hold every row of A, instead of tiles.
//
//   const FewRows kernel = few_rows_kernel(op, machine.torch_product->choice);
//   if (kernel != FewRows::tiles) const MatmulTime t = few_rows_time(situation, kernel);
//
// Method (equation M26 of docs/model.md). Which kernel runs follows from layout, rows and extents by rules
// read off the kernels' recorded names. A matrix times a vector reads B at nearly the rate of DRAM. Where B
// lies by columns, a block of 128 threads forms eight columns as dot products whose lanes share out k;
// where it lies by rows, a block forms 64 columns and its threads walk along k. Some small products
// are cut along k into more parts than there are steps; adding up the parts takes all the time.
// Limits: the rules meet nine of ten recorded kernels; clocks of an H200 and an H100.
#pragma once

#include "model/matmul/time.h"

namespace ridge::model {

/// Kernels that a product of a few rows runs; `tiles` are the library's usual ones. Of 16 bits, tiles that hold all
/// rows take k `whole` or in `parts` that a second kernel sums, or do without tensor cores (`lanes`).
enum class FewRows : std::uint8_t {
    tiles,
    vector,
    dots,
    walk,
    crumbs,
    slices,
    whole,
    parts,
    lanes
};

/// fp32, tf32 of one row, and 16 bits whose rows are not multiples of 16 bytes.
[[nodiscard]] FewRows few_rows_kernel(const Matmul& op, const TorchChoice& choice);

/// The machine has `model.torch` and `torch_product`; the kernel is not `tiles`.
[[nodiscard]] MatmulTime few_rows_time(const MatmulSituation& situation, FewRows kernel);

}  // namespace ridge::model
