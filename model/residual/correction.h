// The residual correction: a smooth factor on the analytic time, near the shapes that were
// measured.
//
//   const Time kernels = prediction.time;   // less the host's part, if the call has one
//   if (apply_correction(prediction, kernels, operation, execution, machine)) {
//       keep_above(prediction, warm);
//   }
//   prediction.correction   // 1.034: the analytic time was 3.4 % too short for such shapes
//
// Method (docs/model.md K1 to K3). ln of the factor is a sum of small trees over the features of
// the shape. It is clamped to the class's `largest_correction` and fades to nothing with the
// distance from the box of the data. It does not depend on the launch, and it says nothing about
// the time that the host adds to a call. If the class has the state of the L2 as a feature, no time
// is below that of a warm L2. Time and band take the factor, the band narrows to the spread of the
// remaining errors, and the terms keep the analytic model's times. No time falls below the lower
// bound.
//
// Limits: there is no correction if the description has none, for implementations other than the
// fitted one, or if the time is a roofline's.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"
#include "model/residual/features.h"

namespace ridge::model {

/// Share of the correction that is left at these features: 1 inside the box of the data. Alignments do not
/// count. (K2)
[[nodiscard]] double fade_of(const ResidualFeatures& features, const ResidualFit& fit);
[[nodiscard]] double fade_of(const FeatureValues& values, FeatureNames names,
                             const ResidualRange& range, bool l2_last = false);

/// The correction of one operation.
struct Correction {
    double log_factor = 0.0;  ///< clamped and faded (K1)
    double fade = 0.0;        ///< share of it that is left (K2)
};
[[nodiscard]] Correction correction_of(const ResidualFeatures& features, const ResidualFit& fit);

/// Multiplies `kernels`, the part of a settled prediction's time that its kernels take, by its
/// correction, and the band by the factor that the whole time changes by. Returns whether the
/// correction depends on the state of the L2. (K3)
[[nodiscard]] bool apply_correction(Prediction& prediction, Time kernels,
                                    const Operation& operation, const Execution& execution,
                                    const Machine& machine);

/// The longest time that any correction can give this settled prediction. (K3)
[[nodiscard]] Time longest_corrected(const Prediction& prediction);

/// Raises a corrected time to `least`, that of a warm L2. (K3)
void keep_above(Prediction& prediction, Time least);

}  // namespace ridge::model
