// Predictions of matrix products; `model/predict.h` is the way in.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

[[nodiscard]] Outcome predict(const Matmul& op, const Execution& execution, const Machine& machine);

/// Work, roofs, footprint and lower bound as `predict` gives them for the library's product.
void set_library_counts(Prediction& prediction, const Matmul& op, L2State l2,
                        const Machine& machine);

}  // namespace ridge::model
