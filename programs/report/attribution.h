// The operator that each kernel is attributed to, and a trace's operator calls in the order of
// their kernels.
//
// The innermost operator of a kernel is not always the most informative one: the search goes
// outwards to the first operator that the model understands and whose arguments were recorded; if
// there is none, the innermost operator is used. Kernels that no operator launched are listed by
// their own name.
#pragma once

#include <cstdint>
#include <vector>

#include "programs/traces/trace.h"

namespace ridge::programs {

/// One call of an operator with the kernels that it launched.
struct Instance {
    std::int32_t op = none;             ///< none: a kernel that belongs to no operator
    std::vector<std::int32_t> kernels;  ///< in order of start
    std::int64_t measured_ns = 0;
    std::int64_t stream = 0;
};

/// Every kernel is in exactly one instance; instances are in the order of their first kernel.
[[nodiscard]] std::vector<Instance> instances_of(const Trace& trace);

}  // namespace ridge::programs
