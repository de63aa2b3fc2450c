// What would make a step faster: each answer comes from predicting the alternative.
//
//   for (const Suggestion& s : advise(a, request, machine, {.host = host, .usable = bytes}))
//       s.text, s.factor;
//
// Method: the same step is predicted again with one thing changed: its kernels in a CUDA graph,
// fused kernels, fp8 weights, an 8-bit cache, another batch, grouped key and value heads, a
// vocabulary padded to a multiple of 64, more GPUs. Alternatives that gain less than 3 % or do not
// fit are left out; the largest gain comes first.
// Limits: the cost of an alternative in accuracy or retraining is not considered.
#pragma once

#include <string>
#include <vector>

#include "programs/model_step.h"

namespace ridge::programs {

struct Suggestion {
    std::string text;     ///< "fp8 weights"
    double factor = 1.0;  ///< tokens per second relative to the present step
    Time wall;            ///< of the changed step
};

struct Circumstances {
    Host host = host_beside("");
    std::int64_t usable = 0;  ///< memory of the GPU; 0: not checked
};

[[nodiscard]] std::vector<Suggestion> advise(const Architecture& architecture,
                                             const Request& request, const model::Machine& machine,
                                             const Circumstances& circumstances);

}  // namespace ridge::programs
