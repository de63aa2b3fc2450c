// The 80 % band of a time, from residuals of measured rows.
//
//   apply_band(prediction, BandClass::ring, ChipEvidence::own, Validity::validated);
//   prediction.low, prediction.high
//
// Method: a table (calibration/bands.toml, read by `band_data.h`) gives two quantiles of ln(measured / predicted) for each
// class. `ridge fit bands` makes it from measured rows (docs/model.md, Bands). Operations and
// regimes whose residuals have the same spread form one class. A GPU that takes its parameters from
// its family gets a margin on both sides, which depends on the rows that its class is based on; the
// margin is larger if the parameters come from another family. The margins are such that GPUs left
// out are covered (docs/accuracy.md). Outside the validated range the band is half as wide again.
// To add a class, add an enumerator with its name (`band_class.h`) and the rows that belong to it,
// and run `ridge fit bands`.
// Limits: the band is that of the model, not of one run on a busy or throttled machine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "hardware/quantity.h"
#include "model/core/band_class.h"
#include "model/core/prediction.h"
#include "model/machine/evidence.h"

namespace ridge::model {

struct Machine;

/// The kinds of rows that bands are based on.
enum class BandBasis : std::uint8_t { bundled, eager, serving, nccl, published, nothing };
inline constexpr std::array<std::string_view, 6> band_basis_names{
    "bundled", "eager", "serving", "nccl", "published", "nothing"};

/// What the rows are, and the margins in ln for GPUs none of whose rows were measured.
struct BasisRow {
    double family_margin = 0.0;  ///< if another GPU of the family was measured
    double foreign_margin =
        0.0;  ///< if none of the family was measured, beside that of the limiter (R9)
    std::string rows;
};
[[nodiscard]] const BasisRow& basis_row(BandBasis basis);

/// Quantiles of ln(measured / predicted) of one class, and their origin.
struct BandRow {
    BandClass band_class = BandClass::roofline;
    double low = 0.0;
    double high = 0.0;
    int rows = 0;  ///< number of residuals; 0: set by hand
    BandBasis basis = BandBasis::nothing;
};
[[nodiscard]] const BandRow& band_row(BandClass band_class);

enum class Validity : std::uint8_t { validated, extrapolated };

/// Whether a measured time lies in the band.
[[nodiscard]] inline bool in_band(const Prediction& prediction, Time measured) {
    return prediction.low <= measured && measured <= prediction.high;
}

/// Sets class, band and evidence, and notes `Uncalibrated` or `Extrapolated` if they apply. The
/// lower edge is never below the roofline's bound.
void apply_band(Prediction& prediction, BandClass band_class, ChipEvidence chip, Validity validity);

/// Widens the band of a time with another architecture's parameters, or of a library's product with
/// a relative's, by the margin of what limits it, which must be settled, on a chip like this one. (R9)
void widen_for_other_chip(Prediction& prediction, const Machine& machine);

/// Widens the band of a product of 4 bits on a foreign chip by the share of its fixed times, which L11 guesses. (R9)
void widen_for_four_bits(Prediction& prediction);

/// Whose kernel was measured in the place of the one that was asked for.
enum class StandIn : std::uint8_t { other_version, other_software };
/// Widens the band of a time whose kernel is another one's. (R9)
void widen_for_stand_in(Prediction& prediction, StandIn whose);

/// Widens the band on both sides and adds a note, for an implementation with the costs of another
/// one. (eq. L10)
enum class Borrowed : std::uint8_t { prefill, decode };
void widen_for_borrowed(Prediction& prediction, Borrowed phase);

/// Sets class, band and evidence of PyTorch's kernels: validated if they were measured on this
/// GPU and are launched one by one, as they were then.
void apply_torch_band(Prediction& prediction, BandClass band_class, Evidence evidence,
                      LaunchMode launch);

/// The band of a time that is the roofline's, because such kernels were never measured: from the
/// lower bound to four times the time plus the fixed time of a call; noted `RooflineOnly`. (eq. R5)
inline constexpr double roofline_band_factor = 4.0;
inline constexpr Time roofline_band_call = 12.0 * units::us;
void apply_roofline_band(Prediction& prediction);

}  // namespace ridge::model
