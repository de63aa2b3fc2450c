// Tensors of any sizes that are joined, expressed as the operation `Cat`, whose inputs all have one
// shape.
//
//   const Cat cat = joined({.elements = 513 * 768, .largest = 512 * 768, .piece = 768, .run = 64});
//   cat.inputs;  // 1: the kernel's threads wait for the largest
//
// Method: PyTorch gives each input the same number of threads, so the largest input sets the time.
// The number of inputs of the `Cat` is therefore the number of largest inputs that fit into the
// result. Limits: a contiguous part that is not a whole number of pieces is rounded down to one;
// views then have pieces of one run.
#pragma once

#include <cstdint>

#include "model/core/operation.h"

namespace ridge::model {

struct Joined {
    std::int64_t elements = 0;  ///< of the result
    std::int64_t largest = 0;   ///< elements of the largest input
    std::int64_t piece = 1;     ///< elements of an input that lie together in the result
    std::int64_t run = 0;       ///< elements of an input that lie together in memory; 0: contiguous
    DataType type = DataType::bf16;
};

[[nodiscard]] Cat joined(const Joined& parts);

}  // namespace ridge::model
