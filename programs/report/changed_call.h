// How much longer or shorter a call takes with other arguments: the ratio of its two predictions (docs/model.md S12).
//
//   const auto ratio = changed_time(rows.rows[i], rows.understood[i], changed, machine);   // empty: not predicted
#pragma once

#include <optional>

#include "programs/report/operator_rows.h"

namespace ridge::programs {

/// `changed` is the row's call with other arguments. Both times follow from shapes, whatever kernels ran.
[[nodiscard]] std::optional<double> changed_time(const OperatorRow& row,
                                                 const Understood& understood, const Call& changed,
                                                 const model::Machine& machine);

}  // namespace ridge::programs
