// Predictions of recurrences (gdn, kda, mamba2). The entry point is `model/predict.h`.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

[[nodiscard]] Outcome predict(const Recurrence& op, const Execution& execution,
                              const Machine& machine);

}  // namespace ridge::model
