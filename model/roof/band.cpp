#include "model/roof/band.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/error.h"

namespace ridge::model {
namespace {

constexpr double extrapolation_factor = 1.5;

constexpr std::array<BasisRow, 6> bases{{
    {0.12, 0.12, "records of bundled kernels and cuBLASLt on an H200 SXM"},
    {0.10, 0.10, "rows of the NeuSight test set, A100 PCIe and V100 PCIe"},
    {0.02, 0.08,
     "aiconfigurator's tables of products and attention, A100, H100, H200 and B200 SXM"},
    {0.45, 0.45, "aiconfigurator's NCCL tables, A100, H100, H200 and B200 SXM"},
    {0.06, 0.06, "figures and tables of FlashAttention 1 to 3, A100 and H100"},
    {0.10, 0.10, "nothing measured: an estimate"},
}};

constexpr std::array<BandRow, band_class_count> rows{{
#include "model/roof/band_table.inc"
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (static_cast<std::size_t>(rows[i].band_class) != i) return false;
        if (!(rows[i].low < 0.0 && rows[i].high > 0.0)) return false;
    }
    return true;
}
static_assert(in_order(), "the rows stand in the order of BandClass");

}  // namespace

const BasisRow& basis_row(BandBasis basis) {
    return bases[static_cast<std::size_t>(basis)];
}

const BandRow& band_row(BandClass band_class) {
    const auto index = static_cast<std::size_t>(band_class);
    RIDGE_CONTRACT(index < rows.size());
    return rows[index];
}

void apply_band(Prediction& prediction, BandClass band_class, Confidence confidence,
                Validity validity) {
    const BandRow& row = band_row(band_class);
    const BasisRow& basis = basis_row(row.basis);
    const bool known = validity == Validity::validated;
    const double unmeasured = known ? basis.family_margin : basis.foreign_margin;
    const double margin = confidence == Confidence::calibrated ? 0.0 : unmeasured;
    const double factor = known ? 1.0 : extrapolation_factor;
    const Time low = prediction.time * std::exp(factor * (row.low - margin));
    prediction.low = std::min(prediction.time, std::max(prediction.lower_bound, low));
    prediction.high = prediction.time * std::exp(factor * (row.high + margin));
    prediction.band_class = band_class;
    prediction.confidence = confidence;
    if (confidence == Confidence::family) prediction.note(NoteCode::uncalibrated);
    if (validity == Validity::extrapolated) prediction.note(NoteCode::extrapolated);
}

void apply_roofline_band(Prediction& prediction) {
    constexpr double factor = 4.0;
    constexpr Time call = 12.0 * units::us;
    prediction.low = prediction.lower_bound;
    prediction.high = factor * prediction.time + call;
    prediction.note(NoteCode::roofline_only);
}

}  // namespace ridge::model
