// Matrix transpose, destination[c][r] = source[r][c], for 2- and 4-byte elements. Shows the benefit
// of a tile in shared memory.
//
// Method:
//   naive     reads along rows and writes down columns, one element at a time
//   padded    64x64 tile in shared memory whose rows are one word longer than the banks; any shape
//   swizzled  tile of 64x64 or 128x128 elements, 16-byte vectors to and from memory; 16-byte group
//             g of row r is stored at g ^ (r / V mod 8), V elements per vector, so that neither the
//             row-wise stores nor the column-wise loads conflict
//
// Example:
//   launch_of(Transpose{.source = a, .destination = b, .rows = 8192, .columns = 8192,
//                       .element_bytes = 2, .method = TransposeMethod::swizzled})(stream);
// Limits: swizzled needs rows and columns that are multiples of 16 / element_bytes
// (std::invalid_argument).
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"
#include "model/bundled/streams.h"

namespace ridge::measure::cuda {

using bundled::TransposeMethod;

struct Transpose {
    const void* source = nullptr;
    void* destination = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    int element_bytes = 4;  // 2 or 4
    TransposeMethod method = TransposeMethod::swizzled;
};

[[nodiscard]] Launch launch_of(const Transpose& transpose);

}  // namespace ridge::measure::cuda
