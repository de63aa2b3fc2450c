// Predictions of attention. The entry point is `model/predict.h`.
#pragma once

#include "model/attention/time.h"
#include "model/attention/torch_backends.h"
#include "model/attention/work.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// `product` predicts the two matrix products of attention in three kernels (impl=standard).
[[nodiscard]] Outcome predict(const Attention& op, const Execution& execution,
                              const Machine& machine, ProductPredictor product,
                              OperationPredictor operation);

/// The counts of an implementation that a prediction names. A backend of
/// scaled_dot_product_attention counts as the kernels that stand for it.
[[nodiscard]] AttentionWork attention_counts(const Attention& op, Implementation implementation,
                                             const Machine& machine);

}  // namespace ridge::model
