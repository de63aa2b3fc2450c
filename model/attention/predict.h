// Predictions of attention; `model/predict.h` is the way in.
#pragma once

#include "model/attention/time.h"
#include "model/attention/torch_backends.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// `product` predicts the two matrix products of attention in three kernels (impl=standard).
[[nodiscard]] Outcome predict(const Attention& op, const Execution& execution,
                              const Machine& machine, ProductPredictor product,
                              OperationPredictor operation);

}  // namespace ridge::model
