// Chooses the band of a matrix product: its class in `band.h`, by kernel and regime, and whether
// the shape lies within the range in which residuals were taken.
//
//   apply_band(prediction, matmul_band(situation, regime_of(time)), chip, validity);
#pragma once

#include "model/matmul/time.h"
#include "model/roof/band.h"

namespace ridge::model {

[[nodiscard]] BandClass matmul_band(const MatmulSituation& situation, MatmulRegime regime);

/// The class of a bundled kernel's residuals.
[[nodiscard]] BandClass bundled_band(Implementation implementation);

/// The class of PyTorch's products, by type, with separate classes for few or misaligned rows.
[[nodiscard]] BandClass torch_band(const Matmul& op, L2State l2);

/// Extrapolated are batched or cold products, other types, extents beyond the measured ones, and
/// GPUs whose family borrows its parameters from another family.
[[nodiscard]] Validity matmul_validity(const MatmulSituation& situation);

/// Alignment shares are estimates: where one applies, the band is this many times as wide.
inline constexpr double estimated_cliff = 4.0;

}  // namespace ridge::model
