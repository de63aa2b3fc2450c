// What a change of the whole program would save: mixed precision, images with channels last, fused
// attention. Each changed call is predicted again.
//
//   for (const Saving& saving : changes_of(instances, rows, machine)) saving.saves()
//
// Method (docs/model.md S12). A call with other types or strides takes its measured time times the ratio of
// the two predictions. Mixed precision takes products, convolutions and attention in fp32 to bf16, with
// activations and copies of layouts after them, and adds a cast of the inputs in the forward pass. Channels last takes the images of all calls with four dimensions or more.
// Attention of separate kernels is a softmax between two products of its size, with all between them.
//
// Limits: pointwise operators keep their type, although some follow their inputs; a reader that needs the
// other layout is not seen.
#pragma once

#include <vector>

#include "programs/report/operator_rows.h"

namespace ridge::programs {

[[nodiscard]] std::vector<Saving> changes_of(const std::vector<Instance>& instances,
                                             const Rows& rows, const model::Machine& machine);

}  // namespace ridge::programs
