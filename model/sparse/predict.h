// Predictions of the parts of sparse attention. The entry point is `model/predict.h`.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

[[nodiscard]] Outcome predict(const SparseAttention& op, const Execution& execution,
                              const Machine& machine);

}  // namespace ridge::model
