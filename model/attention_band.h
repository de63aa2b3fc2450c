// The 80 % interval of attention predictions: measured over predicted time by regime, from rows left
// out of the fits (eq. T12 of docs/model.md).
//
// Three things widen it: parameters of the architecture instead of the GPU's own, a family in which
// no GPU was measured, and calls unlike the fitted ones. Paged 16-bit forward calls were fitted;
// contiguous calls and backward passes were only checked against published throughput.
#pragma once

#include "model/attention_time.h"

namespace ridge::model {

/// Factors on the predicted time, and whether the call lies outside what was checked.
struct AttentionBand {
    double low = 0.5;
    double high = 2.0;
    bool extrapolated = false;
};

/// `own`: the parameters were fitted to this GPU.
[[nodiscard]] AttentionBand attention_band(const Attention& op, Implementation implementation,
                                           const AttentionTime& time, bool own,
                                           const Machine& machine);

}  // namespace ridge::model
