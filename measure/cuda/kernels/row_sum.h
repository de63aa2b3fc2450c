// Sums or maxima of rows, into float.
//
// Method: each row belongs to a warp or a block (model/bundled/rows.h), 4 vectors of 16 bytes in
// flight per thread, float accumulators.
//
// Example:
//   launch_of(RowReduction{.source = x, .destination = sums, .rows = 8192,
//                          .columns = 8192})(stream);
// Limits: float32, float16, bfloat16; 16-byte aligned arrays (std::invalid_argument for other types
// or empty shapes).
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

enum class Reduction { sum, maximum };

struct RowReduction {
    const void* source = nullptr;
    float* destination = nullptr;  // rows
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    ElementType type = ElementType::float32;
    Reduction reduction = Reduction::sum;
};

[[nodiscard]] Launch launch_of(const RowReduction& reduction);
}  // namespace ridge::measure::cuda
