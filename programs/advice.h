// What would help a step: every answer comes from predicting the alternative.
//
//   for (const Suggestion& s : advise(a, request, machine, {.host = host, .usable = bytes}))
//       s.text, s.factor;
//
// Method: the same step is predicted once more with one thing changed: its kernels in a CUDA graph,
// fused kernels, fp8 weights, an 8-bit cache, another batch, grouped key and value heads, a
// vocabulary padded to a multiple of 64, more GPUs. What gains less than 3 % or does not fit is left
// out; the largest gain stands first.
// Limits: what an alternative costs in accuracy, or in retraining, is not weighed.
#pragma once

#include <string>
#include <vector>

#include "programs/model_step.h"

namespace ridge::programs {

struct Suggestion {
    std::string text;     ///< "fp8 weights"
    double factor = 1.0;  ///< tokens per second against now
    Time wall;            ///< of the step then
};

struct Circumstances {
    Host host = host_beside("");
    std::int64_t usable = 0;  ///< memory of the GPU; 0: not asked
};

[[nodiscard]] std::vector<Suggestion> advise(const Architecture& architecture,
                                             const Request& request, const model::Machine& machine,
                                             const Circumstances& circumstances);

}  // namespace ridge::programs
