// Products as torch.compile runs them: the library's product, and Triton kernels for what it does not take in.
//
//   const Workload kernels = compiled_product(op, execution);   // {product} or {product, pointwise} ...
//   const Outcome outcome = predict_compiled(op, execution, machine);
//
// Method (docs/model.md, M27): a product or one with a bias is what eager PyTorch runs. An activation
// is a generated kernel over the result; in 32 bits it adds the bias too. Operands whose rows are not
// multiples of 16 bytes are copied to padded ones where the product computes for longer than that takes.
// Each kernel is predicted as an operation of its own, and times, bytes and bands add up as those of a
// sequence (R6).
// Limits: Inductor tries padding on the spot; what it pads for other reasons stays as it is here.
#pragma once

#include "model/predict.h"

namespace ridge::model {

/// Whether a product of so many rows, columns and inputs computes for long enough that Inductor pads operands for it.
[[nodiscard]] bool is_worth_padding(std::int64_t rows, std::int64_t columns, std::int64_t inputs);

/// The kernels in their order, each as an operation with its implementation.
[[nodiscard]] Workload compiled_product(const Matmul& op, const Execution& execution);

/// The sum of those kernels' predictions, with the counts of the product itself.
[[nodiscard]] Outcome predict_compiled(const Matmul& op, const Execution& execution,
                                       const Machine& machine);

}  // namespace ridge::model
