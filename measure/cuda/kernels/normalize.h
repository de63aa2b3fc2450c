// Layer norm and RMS norm over the rows of a matrix, fused.
//
// Method: y = (x - mean) / sqrt(variance + epsilon) * gamma + beta (Ba, Kiros, Hinton, arXiv
// 1607.06450, population variance), and y = x / sqrt(mean of x^2 + epsilon) * gamma (Zhang,
// Sennrich, arXiv 1910.07467). The row stays in registers (model/bundled/rows.h), so the variance
// is summed around the true mean. Longer rows are read twice; their sums are taken around the row's
// first element. gamma and beta have the element type of x and are read through L1 while x streams
// past it. Arithmetic is in float.
//
// Example:
//   launch_of(Normalize{.source = x, .destination = y, .gamma = g, .beta = b, .rows = 8192,
//                       .columns = 8192})(stream);
// Limits: float32, float16, bfloat16; dense rows, 16-byte aligned (std::invalid_argument
// otherwise).
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

enum class Norm { layer, rms };

struct Normalize {
    const void* source = nullptr;
    void* destination = nullptr;
    const void* gamma = nullptr;  // columns
    const void* beta = nullptr;   // columns; not read by Norm::rms
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    ElementType type = ElementType::float32;
    Norm norm = Norm::layer;
    float epsilon = 1e-5F;
};

[[nodiscard]] Launch launch_of(const Normalize& normalize);
}  // namespace ridge::measure::cuda
