// The 80 % interval of attention predictions: measured over predicted time by regime, from rows left
// out of the fits (eq. T12 of docs/model.md).
#pragma once

#include "model/attention_time.h"

namespace ridge::model {

/// Factors on the predicted time.
struct BandRatios {
    double low = 0.5;
    double high = 2.0;
};

/// Enclosing 80 % of times. Wider where the parameters are an architecture's, not the GPU's, and
/// where the call lies outside what was fitted.
enum class BandBasis : std::uint8_t { own, family };
[[nodiscard]] BandRatios attention_band(AttentionRegime regime, const Machine& machine,
                                        bool extrapolated);

}  // namespace ridge::model
