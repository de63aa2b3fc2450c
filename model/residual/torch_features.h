// The inputs of the residual correction for PyTorch's kernels.
//
//   if (const auto found = torch_features_of(operation, l2, prediction, 132.0)) found->values
//
// Method (docs/model.md K1). The features are logarithms of extents and bytes; kinds and types as
// numbers; the alignment of rows, as the logarithm of the largest power of two up to 16 that
// divides them; and blocks over multiprocessors with the fullness of their last wave. Products in
// fp32 and tf32 also have the tile that the time model took. Apart from that tile no feature
// depends on the GPU's rates or on the launch.
//
// Limits: empty for implementations that are not a framework's, and for kernels of torch.compile,
// of which there are too few records.
#pragma once

#include <optional>

#include "model/residual/features.h"

namespace ridge::model {

[[nodiscard]] std::optional<ResidualFeatures> torch_features_of(const Operation& operation,
                                                                L2State l2,
                                                                const Prediction& prediction,
                                                                double multiprocessors);

}  // namespace ridge::model
