// What decides of a product by its rows alone which kind of kernel cuBLAS takes: how many there are, and
// whether they are whole vectors. Time, corrections and bands tell their classes apart by the same two.
//
//   const bool odd = !has_whole_vectors(op);   // n = 50257
//
// Method: observed in the kernels' recorded names (equation M26 of docs/model.md).
// Limits: of 16-bit types; a row of another type is aligned elsewhere.
#pragma once

#include <cstdint>

#include "model/core/operation.h"

namespace ridge::model {

/// Up to so many rows kernels of their own run in fp32, and in 16 bits where rows are no whole vectors.
inline constexpr std::int64_t most_few_rows = 16;

/// Whether rows of n and of k elements of 16 bits are multiples of 16 bytes.
[[nodiscard]] constexpr bool has_whole_vectors(const Matmul& op) {
    return op.n % 8 == 0 && op.k % 8 == 0;
}

}  // namespace ridge::model
