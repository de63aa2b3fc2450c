// Embedding gather: destination row r is table row indices[r].
//
// Method: one warp per destination row, 16-byte vectors, 4 in flight per lane. Rows that are not
// whole vectors are moved in units of 2 or 4 bytes.
//
// Example:
//   launch_of(EmbeddingGather{.table = t, .indices = i, .destination = y, .rows = 65536,
//                             .row_bytes = 8192})(stream);
// Units: bytes; indices are 64-bit and must be inside the table (not checked on the GPU).
// Limits: row_bytes a multiple of 2 (std::invalid_argument); table and destination 16-byte aligned.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

struct EmbeddingGather {
    const void* table = nullptr;
    const std::int64_t* indices = nullptr;
    void* destination = nullptr;
    std::int64_t rows = 0;
    std::int64_t row_bytes = 0;
};

[[nodiscard]] Launch launch_of(const EmbeddingGather& gather);
}  // namespace ridge::measure::cuda
