// Sums: of each row (or its maximum), and of a whole array, both into float.
//
// Method: RowReduction gives each row to a warp (rows of up to 8 KiB) or a block, 4 vectors of 16
// bytes in flight per thread, float accumulators. WholeSum is two kernels: a persistent grid writes
// one float per block, one block adds these; so the result does not depend on the order in which
// blocks run.
//
// Example: launch_of(RowReduction{.source = x, .destination = sums, .rows = 8192, .columns =
// 8192})(stream); Limits: float32, float16, bfloat16; 16-byte aligned arrays (std::invalid_argument
// for other types or empty shapes).
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/work.h"

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

struct WholeSum {
    const void* source = nullptr;
    float* partial_sums = nullptr;  // geometry_of(...).blocks
    float* destination = nullptr;   // one
    std::int64_t elements = 0;
    ElementType type = ElementType::float32;
    int multiprocessors = 132;
};

[[nodiscard]] Launch launch_of(const RowReduction& reduction);
[[nodiscard]] Launch launch_of(const WholeSum& sum);
[[nodiscard]] KernelGeometry geometry_of(const RowReduction& reduction);
[[nodiscard]] KernelGeometry geometry_of(const WholeSum& sum);  // of the first kernel
[[nodiscard]] KernelWork work_of(const RowReduction& reduction);
[[nodiscard]] KernelWork work_of(const WholeSum& sum);

}  // namespace ridge::measure::cuda
