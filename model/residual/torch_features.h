// What the residual correction sees of PyTorch's kernels.
//
//   if (const auto found = torch_features_of(operation, l2, prediction, 132.0)) found->values
//
// Method (docs/model.md K1). Logarithms of extents and bytes, kinds and types by number, alignment of rows as
// the logarithm of the largest power of two up to 16 that divides it, blocks over multiprocessors and how
// full their last wave is; of products in fp32 and tf32 the tile that the time model took. Nothing else of it
// depends on the GPU's rates, the state of the L2 or the launch.
//
// Limits: empty for other implementations than a framework's, and for what torch.compile makes, of which there
// are too few records.
#pragma once

#include <optional>

#include "model/residual/features.h"

namespace ridge::model {

[[nodiscard]] std::optional<ResidualFeatures> torch_features_of(const Operation& operation,
                                                                L2State l2,
                                                                const Prediction& prediction,
                                                                double multiprocessors);

}  // namespace ridge::model
