// Products of a few rows in fp32, or of misaligned rows in 16 bits, as cuBLAS runs them for PyTorch:
// special kernels (gemmSN, gemv) that read B once and hold every row of A, instead of tiles.
//
//   if (runs_few_rows(op)) const MatmulTime t = few_rows_time(situation);
//
// Method (equation M26 of docs/model.md): where B lies by columns, a block of 128 threads forms eight columns
// as dot products whose lanes share out k; where it lies by rows, a block forms 64 columns and its threads
// walk along k.
// Limits: which kernel cuBLAS takes is known for most shapes only; clocks of an H200 and an H100.
#pragma once

#include "model/matmul/time.h"

namespace ridge::model {

/// fp32 and up to 16 rows with B by columns, or up to 8 with B by rows of whole groups of four; 16
/// bits and up to 8 rows that are not multiples of 16 bytes.
[[nodiscard]] bool runs_few_rows(const Matmul& op);

/// The machine has `model.torch`.
[[nodiscard]] MatmulTime few_rows_time(const MatmulSituation& situation);

}  // namespace ridge::model
