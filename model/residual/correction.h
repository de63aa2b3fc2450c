// The residual correction: a smooth factor over the analytic time, near the shapes that were measured.
//
//   if (apply_correction(prediction, operation, execution, machine)) keep_above(prediction, warm);
//   prediction.correction   // 1.034: the time of the terms was 3.4 % too short for such shapes
//
// Method (docs/model.md K1 to K3). ln of the factor is a sum of small trees over the features of the
// shape, clamped to the class's `largest_correction`, faded to nothing with the distance
// from the box of the data, the same whatever the launch. Where a class has the state of the L2 as a
// feature, no time is below that of a warm one. Time and band take the
// factor, the band narrows to the spread of what is left, the terms keep the analytic model's
// times; no time falls below the lower bound.
//
// Limits: nothing happens where the description has no correction, for other implementations than
// the fitted one, and where the time is a roofline's.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"
#include "model/residual/features.h"

namespace ridge::model {

/// How much of the correction is left at these features: 1 inside of the box of the data. (K2)
[[nodiscard]] double fade_of(const ResidualFeatures& features, const ResidualFit& fit);

/// What a correction says of one operation.
struct Correction {
    double log_factor = 0.0;  ///< clamped and faded (K1)
    double fade = 0.0;        ///< how much of it is left (K2)
};
[[nodiscard]] Correction correction_of(const ResidualFeatures& features, const ResidualFit& fit);

/// Multiplies time and band of a settled prediction by its correction; true where that depends on the
/// state of the L2. (K3)
[[nodiscard]] bool apply_correction(Prediction& prediction, const Operation& operation,
                                    const Execution& execution, const Machine& machine);

/// No correction makes the time of this settled prediction longer than that. (K3)
[[nodiscard]] Time longest_corrected(const Prediction& prediction);

/// Raises a corrected time to `least`, that of a warm L2. (K3)
void keep_above(Prediction& prediction, Time least);

}  // namespace ridge::model
