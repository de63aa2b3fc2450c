// What a program could save: waiting for the host, kernels that could be fused, kernels slower than
// they should be, copies that change no value.
#pragma once

#include <vector>

#include "programs/report/operator_rows.h"

namespace ridge::programs {

/// Ordered by what they save, the largest first; nothing below a thousandth of the kernel time.
/// Also records in each row how much of its time is avoidable.
[[nodiscard]] std::vector<Saving> savings_of(const Trace& trace,
                                             const std::vector<Instance>& instances, Rows& rows,
                                             const Timeline& timeline,
                                             const model::Machine& machine);

}  // namespace ridge::programs
