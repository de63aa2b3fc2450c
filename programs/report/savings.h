// What a program could save: waiting for the host, kernels that could be one, kernels slower than they
// should be, copies that change no value.
#pragma once

#include <vector>

#include "programs/report/operator_rows.h"

namespace ridge::programs {

/// By what they save, the largest first; nothing under a thousandth of the kernel time. Notes on the
/// rows what of them is needless.
[[nodiscard]] std::vector<Saving> savings_of(const std::vector<Instance>& instances, Rows& rows,
                                             const Timeline& timeline,
                                             const model::Machine& machine);

}  // namespace ridge::programs
