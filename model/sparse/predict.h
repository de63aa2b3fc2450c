// Predictions of the parts of sparse attention. The entry point is `model/predict.h`.
#pragma once

#include <string_view>

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

[[nodiscard]] Outcome predict(const SparseAttention& op, const Execution& execution,
                              const Machine& machine);

/// Counted work on the tensor cores at the roofline, with its launches. `name` is the operation's.
[[nodiscard]] Outcome tensor_roofline(std::string_view name, DataType type, const Work& work,
                                      const Execution& execution, const Machine& machine);

}  // namespace ridge::model
