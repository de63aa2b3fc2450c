// Counts for an elementwise expression over tensors: kernels, passes, FLOP, special functions.
//
//   elementwise_work({.expression = parse_expression("gelu(x + bias)"), .elements = 1 << 20},
//                    Implementation::fused).dram()   // one read and one write of the tensor
//
// Method: docs/model.md equations E1 to E6. A broadcast vector or scalar does not move a full pass
// and counts as free.
#pragma once

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

/// `fused` and `compiled` are one kernel; `unfused` and `torch` are one kernel per function.
/// Compulsory bytes are those of the fused kernel.
[[nodiscard]] Work elementwise_work(const Elementwise& op, Implementation implementation);

}  // namespace ridge::model
