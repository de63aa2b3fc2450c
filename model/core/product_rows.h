// What in a product's rows decides which kind of kernel cuBLAS takes: their number, and whether
// they are whole vectors. Time, corrections and bands use the same two to tell classes apart.
//
//   const bool odd = !has_whole_vectors(op);   // n = 50257
//
// Method: observed in the kernels' recorded names (equation M26 of docs/model.md).
// Limits: 16-bit types only; the alignment of rows of other types is decided elsewhere.
#pragma once

#include <cstdint>

#include "model/core/operation.h"

namespace ridge::model {

/// Up to this many rows, separate kernels run in fp32, and in 16 bits if rows are not whole
/// vectors.
inline constexpr std::int64_t most_few_rows = 16;

/// Whether rows of n and of k elements of 16 bits are multiples of 16 bytes.
[[nodiscard]] constexpr bool has_whole_vectors(const Matmul& op) {
    return op.n % 8 == 0 && op.k % 8 == 0;
}

}  // namespace ridge::model
