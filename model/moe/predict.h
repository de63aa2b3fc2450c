// Predictions of blocks of experts; `model/predict.h` is the way in.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

[[nodiscard]] Outcome predict(const Moe& op, const Execution& execution, const Machine& machine);

}  // namespace ridge::model
