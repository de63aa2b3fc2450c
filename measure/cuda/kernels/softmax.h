// Softmax over the rows of a matrix: fused into one kernel, and as five kernels, as an eager
// framework computes it step by step.
//
// Method: fused keeps each row in registers (model/bundled/rows.h). Every thread finds the maximum
// and the sum of exponentials of its share; one merge over the row combines (maximum, sum) pairs
// (online softmax, Milakov and Gimelshein, arXiv 1805.02867). A row therefore costs one read, one
// write and one barrier. Long rows are read twice. Exponentials are ex2.approx of x log2(e), in
// float for every element type. Unfused runs maximum, subtract, exp, sum, divide, each reading and
// writing memory: 5 reads and 3 writes of the matrix.
//
// Example:
//   launch_of(Softmax{.source = x, .destination = y, .rows = 8192, .columns = 8192,
//                     .type = ElementType::bfloat16})(stream);
// Limits: float32, float16, bfloat16; dense rows, 16-byte aligned matrices; std::invalid_argument
// otherwise.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

struct Softmax {
    const void* source = nullptr;
    void* destination = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    ElementType type = ElementType::float32;
};

struct UnfusedSoftmax {
    const void* source = nullptr;
    void* shifted = nullptr;       // source - row maximum
    void* exponentials = nullptr;  // exp of shifted
    void* destination = nullptr;
    float* row_maximum = nullptr;
    float* row_sum = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    ElementType type = ElementType::float32;
};

[[nodiscard]] Launch launch_of(const Softmax& softmax);
[[nodiscard]] Launch launch_of(const UnfusedSoftmax& softmax);
}  // namespace ridge::measure::cuda
