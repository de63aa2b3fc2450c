// The inputs of the residual correction: the class of an operation, and numbers that depend only on
// its shape and on the number of multiprocessors.
//
//   if (const auto found = residual_features_of(operation, execution, prediction, machine))
//       found->residual_class, found->values
//
// Method (docs/model.md K1). The features are logarithms of the extents; the blocks of a usual tile
// over the multiprocessors, and how full their last wave is; a time on a nominal GPU (500 TFLOP/s,
// 3 TB/s, 4 us), the same for every GPU, and the shares of compute and of memory in it. Options
// that change nothing do not change the features. A GPU with more bandwidth has the same features
// as one with less.
//
// Limits: empty for operations that are not in the data (windows, backward passes, a tile given by
// the user).
#pragma once

#include <array>
#include <optional>

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"
#include "model/machine/residual_parameters.h"

namespace ridge::model {

struct ResidualFeatures {
    ResidualClass residual_class = ResidualClass::product_16;
    FeatureValues values{};
};

/// Empty if no correction holds for such operations, or if `wanted` has none for their class.
[[nodiscard]] std::optional<ResidualFeatures> residual_features_of(
    const Operation& operation, const Execution& execution, const Prediction& prediction,
    const Machine& machine, const Residuals* wanted = nullptr);

}  // namespace ridge::model
