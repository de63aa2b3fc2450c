// Tensors of any sizes that are joined, as the operation `Cat`, whose inputs are alike.
//
//   const Cat cat = joined({.elements = 513 * 768, .largest = 512 * 768, .piece = 768, .run = 64});
//   cat.inputs;  // 1: the kernel's threads wait for the largest
//
// Method: PyTorch gives each input as many threads, so that the largest sets the time: the inputs
// are as many as it fits into the result. Limits: elements of a contiguous part that is no whole number
// of pieces are rounded down to one, views then have pieces of one run.
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
