// Predictions of matrix products. The entry point is `model/predict.h`.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

[[nodiscard]] Outcome predict(const Matmul& op, const Execution& execution, const Machine& machine);

/// Sets work, roofs, footprint and lower bound as `predict` does for the library's product.
void set_library_counts(Prediction& prediction, const Matmul& op, L2State l2,
                        const Machine& machine);

}  // namespace ridge::model
