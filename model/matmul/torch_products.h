// What PyTorch's products have of their own: int8 products with int32 results by kernels of an
// earlier generation, epilogues that wait for a vector, and tf32 operands whose rows start between
// 16-byte boundaries.
//
//   if (is_integer_product(op)) const MatmulTime t = integer_product_time(situation);
//
// Method (equation M25 of docs/model.md): int8 products with int32 results take tiles of 64 x 64
// (B by columns) or 128 x 128 (B by rows), whose steps along k come one after the other, one tile of
// a multiprocessor at a time; there is no split of k.
// Limits: clocks of an H200 and an H100; other generations follow their clock.
#pragma once

#include "model/matmul/time.h"

namespace ridge::model {

/// int8 with int32 results, as torch._int_mm asks for it.
[[nodiscard]] bool is_integer_product(const Matmul& op);

[[nodiscard]] MatmulTime integer_product_time(const MatmulSituation& situation);

/// Parameters of the kernels for tf32 operands that are not aligned to 16 bytes.
[[nodiscard]] MatmulParameters unaligned_tf32(const MatmulParameters& aligned);

/// What an epilogue waits for a bias, or 8-bit operands for their scales; zero where there is
/// neither, or the GPU has no `model.torch`.
[[nodiscard]] Time vector_wait(const Matmul& op, L2State l2, const Machine& machine);

}  // namespace ridge::model
