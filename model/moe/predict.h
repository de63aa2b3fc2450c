// Predictions of blocks of experts. The entry point is `model/predict.h`.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"
#include "model/roof/product_predictor.h"

namespace ridge::model {

/// `product` predicts the grouped products.
[[nodiscard]] Outcome predict(const Moe& op, const Execution& execution, const Machine& machine,
                              ProductPredictor product);

}  // namespace ridge::model
