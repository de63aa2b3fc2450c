// What would help a step, each answer by predicting the alternative.
//
//   for (const Suggestion& s : advise(a, request, machine, host)) s.text, s.factor;
//
// Method: the same step is predicted once more with one thing changed: serving kernels in a graph,
// fp8 weights, an 8-bit cache, a vocabulary padded to a multiple of 64, twice the batch, two GPUs.
// What gains less than 3 % is left out; the largest gain stands first.
#pragma once

#include <string>
#include <vector>

#include "programs/model_step.h"

namespace ridge::programs {

struct Suggestion {
    std::string text;     ///< "serving kernels in a CUDA graph"
    double factor = 1.0;  ///< tokens per second against now
    Time wall;            ///< of the step then
};

[[nodiscard]] std::vector<Suggestion> advise(const Architecture& architecture,
                                             const Request& request, const model::Machine& machine,
                                             const Host& host);

}  // namespace ridge::programs
