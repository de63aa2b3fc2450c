// What a library allocates for a call beside its results, while it runs. (docs/vram.md V16)
//
//   workspace_of(parse_call("aten::convolution", inputs));   // bytes; 0: nothing, or not known
//
// Of convolutions with channels first, cuDNN turns the images on both sides and the filters. Limits: sums of
// split products, and what kernels of a few channels keep, are left out.
#pragma once

#include <cstdint>

#include "programs/aten/call.h"

namespace ridge::programs {

/// `hint` is the element type of tensors whose type was not recorded.
[[nodiscard]] std::int64_t workspace_of(const Call& call, ElementType hint = ElementType::unknown);

}  // namespace ridge::programs
