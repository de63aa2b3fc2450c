// The largest batch and the longest sequences of a step that fit in the memory of a GPU.
//
//   largest_batch(a, request, usable);   // sequences of request.seq tokens; 0: not even one
//   largest_length(a, request, usable);  // tokens of request.batch sequences
//
// Method: the step's allocations go through PyTorch's caching allocator for each size that is
// tried. Sizes double until one does not fit; bisection then finds the largest size that fits.
// Limits: a learned position table limits the length; memory outside the step (NCCL, other
// processes) is not counted.
#pragma once

#include <cstdint>

#include "programs/model_step.h"

namespace ridge::programs {

[[nodiscard]] bool fits(const Architecture& architecture, const Request& request,
                        std::int64_t usable);
[[nodiscard]] std::int64_t largest_batch(const Architecture& architecture, const Request& request,
                                         std::int64_t usable);
[[nodiscard]] std::int64_t largest_length(const Architecture& architecture, const Request& request,
                                          std::int64_t usable);

}  // namespace ridge::programs
