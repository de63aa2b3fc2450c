// Products as torch.compile runs them: the library's product, plus Triton kernels for what it does
// not include.
//
//   const Workload kernels = compiled_product(op, execution);   // {product, pointwise} ...
//   const Outcome outcome = predict_compiled(op, execution, machine);
//
// Method (docs/model.md, M27): a product, with or without a bias, is what eager PyTorch runs. An
// activation is a generated kernel over the result, which in 32 bits also adds the bias. Operands
// whose rows are not multiples of 16 bytes are copied to padded ones if the product computes for
// longer than the copy takes. Each kernel is predicted as a separate operation; times, bytes and
// bands add up as those of a sequence (R6). Limits: Inductor tries padding on the spot; padding for
// other reasons is not modelled.
#pragma once

#include "model/predict.h"

namespace ridge::model {

/// Whether a product of this shape computes for long enough that Inductor pads its operands.
[[nodiscard]] bool is_worth_padding(std::int64_t rows, std::int64_t columns, std::int64_t inputs);

/// The kernels in order, each as an operation with its implementation.
[[nodiscard]] Workload compiled_product(const Matmul& op, const Execution& execution);

/// The sum of the predictions of those kernels, with the counts of the product itself.
[[nodiscard]] Outcome predict_compiled(const Matmul& op, const Execution& execution,
                                       const Machine& machine);

}  // namespace ridge::model
