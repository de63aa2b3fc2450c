// The 80 % band of a time, from residuals of measured rows.
//
//   apply_band(prediction, BandClass::ring, Confidence::calibrated, Validity::validated);
//   prediction.low, prediction.high
//
// Method: one table (band_table.inc) gives, for each class, two quantiles of
// ln(measured / predicted); `ridge fit bands` makes it from measured rows as docs/model.md says
// (Bands). Operations and regimes are one class where their residuals have one spread.
// A GPU that takes its parameters from its family gets a margin on both
// sides, that of the rows its class rests on, a larger one from another family (both so that GPUs
// left out are covered, docs/accuracy.md); outside the validated range the band is half as wide
// again. Add a class: an enumerator with its name (`band_class.h`), the rows that belong to it, and
// a run of `ridge fit bands`.
// Limits: the band is of the model, not of one run on a busy or throttled machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/quantity.h"
#include "model/core/band_class.h"
#include "model/core/prediction.h"

namespace ridge::model {

/// The rows that bands rest on.
enum class BandBasis : std::uint8_t { bundled, eager, serving, nccl, published, nothing };

/// What the rows are, and the margins in ln for GPUs of which none were measured.
struct BasisRow {
    double family_margin;   ///< where another GPU of the family was
    double foreign_margin;  ///< where none of the family was; extrapolated shapes too
    std::string_view rows;
};
[[nodiscard]] const BasisRow& basis_row(BandBasis basis);

/// Quantiles of ln(measured / predicted) of one class, and their origin.
struct BandRow {
    BandClass band_class;
    double low;
    double high;
    int rows;  ///< residuals behind them; 0: set by hand
    BandBasis basis;
};
[[nodiscard]] const BandRow& band_row(BandClass band_class);

enum class Validity : std::uint8_t { validated, extrapolated };

/// Whether a measured time lies in the band.
[[nodiscard]] inline bool in_band(const Prediction& prediction, Time measured) {
    return prediction.low <= measured && measured <= prediction.high;
}

/// Sets class, band and confidence, and notes `Uncalibrated` or `Extrapolated` where that holds. The
/// lower edge is never below the roofline's bound.
void apply_band(Prediction& prediction, BandClass band_class, Confidence confidence,
                Validity validity);

/// Widened on both sides, and noted: an implementation with the costs of another one. (eq. L10)
void widen_for_borrowed(Prediction& prediction);

/// The same for PyTorch's kernels: calibrated where they were measured on this GPU (`own`), validated where
/// they were launched one by one.
void apply_torch_band(Prediction& prediction, BandClass band_class, bool own, LaunchMode launch);

/// The band of a time that is the roofline's, because nobody measured such kernels: from the lower
/// bound to four times the time and the fixed time of a call; noted `RooflineOnly`. (eq. R5)
inline constexpr double roofline_band_factor = 4.0;
inline constexpr Time roofline_band_call = 12.0 * units::us;
void apply_roofline_band(Prediction& prediction);

}  // namespace ridge::model
