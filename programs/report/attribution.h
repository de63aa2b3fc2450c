// Which operator a kernel is attributed to, and a trace's operator calls in the order of their kernels.
//
// A kernel's innermost operator is not always the most telling one: the search goes outwards to the
// first that the model understands and whose arguments were recorded, else stays at the innermost.
// Kernels that no operator launched are listed by their own name.
#pragma once

#include <cstdint>
#include <vector>

#include "programs/traces/trace.h"

namespace ridge::programs {

/// One call of an operator with the kernels it launched.
struct Instance {
    std::int32_t op = none;             ///< none: a kernel that belongs to no operator
    std::vector<std::int32_t> kernels;  ///< by start
    std::int64_t measured_ns = 0;
    std::int64_t stream = 0;
};

/// Every kernel is in exactly one instance; instances stand in the order of their first kernel.
[[nodiscard]] std::vector<Instance> instances_of(const Trace& trace);

}  // namespace ridge::programs
