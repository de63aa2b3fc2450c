// Predictions of operations that stream their data: elementwise, rows, transposes, copies, gathers.
// The entry point is `model/predict.h`.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

[[nodiscard]] Outcome predict(const Elementwise& op, const Execution& execution,
                              const Machine& machine);
[[nodiscard]] Outcome predict(const RowWise& op, const Execution& execution,
                              const Machine& machine);
[[nodiscard]] Outcome predict(const Transpose& op, const Execution& execution,
                              const Machine& machine);
[[nodiscard]] Outcome predict(const Copy& op, const Execution& execution, const Machine& machine);
[[nodiscard]] Outcome predict(const Gather& op, const Execution& execution, const Machine& machine);
[[nodiscard]] Outcome predict(const Cat& op, const Execution& execution, const Machine& machine);
[[nodiscard]] Outcome predict(const AdamW& op, const Execution& execution, const Machine& machine);

}  // namespace ridge::model
