// The largest batch and the largest length of a step that fit in a GPU's memory.
//
//   largest_batch(a, request, usable);   // sequences of request.seq tokens; 0: not even one
//   largest_length(a, request, usable);  // tokens of request.batch sequences
//
// Method: the step's allocations go through PyTorch's caching allocator at each size that is tried;
// sizes double until one does not fit, then the gap is halved until the largest that fits and its
// successor stand side by side.
// Limits: a learned position table ends the length; memory beside the step (NCCL, other processes)
// is not counted.
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
