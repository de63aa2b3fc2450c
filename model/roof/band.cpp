#include "model/roof/band.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/error.h"
#include "model/machine/machine.h"
#include "model/roof/band_data.h"

namespace ridge::model {
namespace {

/// The edges of the band over the time.
struct Factors {
    double low = 1.0;
    double high = 1.0;
};

/// The factors of one class by whose parameters they are and whether the shape was validated:
/// exponentials that every prediction would otherwise repeat.
struct ClassFactors {
    std::array<Factors, 2> own;
    std::array<Factors, 2> relative;
    std::array<Factors, 2> foreign;
};

Factors factors_of(const BandRow& row, double margin, double factor) {
    return {std::exp(factor * (row.low - margin)), std::exp(factor * (row.high + margin))};
}

std::array<Factors, 2> both_factors(const BandRow& row, double margin) {
    return {factors_of(row, margin, 1.0),
            factors_of(row, margin, band_data().factors.outside_range)};
}

const Factors& band_factors(BandClass band_class, ChipEvidence chip, Validity validity) {
    static const std::array<ClassFactors, band_class_count> all = [] {
        std::array<ClassFactors, band_class_count> made;
        for (std::size_t i = 0; i < made.size(); ++i) {
            const BandRow& row = band_data().classes[i];
            const BasisRow& basis = basis_row(row.basis);
            made[i] = {.own = both_factors(row, 0.0),
                       .relative = both_factors(row, basis.family_margin),
                       .foreign = both_factors(row, basis.foreign_margin)};
        }
        return made;
    }();
    const auto index = static_cast<std::size_t>(band_class);
    RIDGE_CONTRACT(index < all.size());
    const ClassFactors& factors = all[index];
    const std::size_t place = validity == Validity::validated ? 0 : 1;
    if (chip == ChipEvidence::own) return factors.own[place];
    return chip == ChipEvidence::relative ? factors.relative[place] : factors.foreign[place];
}

}  // namespace

const BasisRow& basis_row(BandBasis basis) {
    return band_data().bases[static_cast<std::size_t>(basis)];
}

const BandRow& band_row(BandClass band_class) {
    const auto index = static_cast<std::size_t>(band_class);
    RIDGE_CONTRACT(index < band_class_count);
    return band_data().classes[index];
}

namespace {

BandBasis basis_of(BandClass band_class) {
    return band_class == BandClass::roofline ? BandBasis::nothing : band_row(band_class).basis;
}

/// Whether a collective's time is that of its start.
constexpr bool is_start(Resource limiter) {
    return limiter == Resource::launch || limiter == Resource::latency;
}

/// Whether the class is of library products whose rows are tables of several GPUs.
constexpr bool is_table_product(BandClass band_class) {
    return band_class >= BandClass::product_fixed && band_class <= BandClass::product_coarse;
}

}  // namespace

void apply_band(Prediction& prediction, BandClass band_class, ChipEvidence chip,
                Validity validity) {
    const Factors& factors = band_factors(band_class, chip, validity);
    const Time low = prediction.time * factors.low;
    prediction.low = std::min(prediction.time, std::max(prediction.lower_bound, low));
    prediction.high = prediction.time * factors.high;
    prediction.band_class = band_class;
    prediction.evidence = {
        .chip = chip,
        .shape = validity == Validity::validated ? ShapeEvidence::inside : ShapeEvidence::outside};
    if (chip != ChipEvidence::own) prediction.note(note::Uncalibrated{});
    if (validity == Validity::extrapolated) prediction.note(note::Extrapolated{});
}

void widen_for_borrowed(Prediction& prediction, Borrowed phase) {
    const double margin = phase == Borrowed::decode ? band_data().margins.borrowed_decode
                                                    : band_data().margins.borrowed_prefill;
    const Time low = prediction.low * std::exp(-margin);
    prediction.low = std::min(prediction.time, std::max(prediction.lower_bound, low));
    prediction.high = prediction.high * std::exp(margin);
    prediction.evidence.kernel = KernelEvidence::other;
    prediction.note(note::EstimatedKernel{});
}

void widen_for_other_chip(Prediction& prediction, const Machine& machine) {
    const ChipEvidence chip = prediction.evidence.chip;
    const bool related = chip == ChipEvidence::relative && is_table_product(prediction.band_class);
    if (!related && chip != ChipEvidence::foreign) return;
    // Whatever limits a collective, its links are what nobody knows.
    const bool collective = basis_of(prediction.band_class) == BandBasis::nccl;
    const Resource limiter = collective ? Resource::link : prediction.limiter;
    // An engine's kernels are written for one generation of tensor cores.
    const bool alike =
        collective ? machine.link_per_direction.has_value()
                   : machine.stacked_memory && prediction.band_class != BandClass::engine_kernel;
    const LimiterMargins& rule = band_data().limiters[static_cast<std::size_t>(limiter)];
    double margin = related ? rule.related : alike ? rule.alike : rule.unlike;
    if (collective && !alike && is_start(prediction.limiter)) {
        margin = band_data().margins.unlinked_start;
    }
    const Time low = prediction.low * std::exp(-margin);
    prediction.low = std::min(prediction.time, std::max(prediction.lower_bound, low));
    prediction.high *= std::exp(margin);
}

void widen_for_four_bits(Prediction& prediction) {
    if (prediction.evidence.chip != ChipEvidence::foreign || prediction.time <= Time{}) return;
    Time fixed{};
    for (const Term& term : prediction.terms) {
        if (term.resource == Resource::launch || term.resource == Resource::quantise)
            fixed += term.time;
    }
    const double margin =
        band_data().margins.four_bit_fixed * (std::min(fixed, prediction.time) / prediction.time);
    const Time low = prediction.low * std::exp(-margin);
    prediction.low = std::min(prediction.time, std::max(prediction.lower_bound, low));
    prediction.high *= std::exp(margin);
}

void widen_for_stand_in(Prediction& prediction, StandIn whose) {
    const double margin = whose == StandIn::other_version ? band_data().margins.other_version
                                                          : band_data().margins.other_software;
    const Time low = prediction.low * std::exp(-margin);
    prediction.low = std::min(prediction.time, std::max(prediction.lower_bound, low));
    prediction.high *= std::exp(margin);
    prediction.evidence.kernel = KernelEvidence::other;
}

void apply_torch_band(Prediction& prediction, BandClass band_class, Evidence evidence,
                      LaunchMode launch) {
    const bool measured = evidence == Evidence::own && launch == LaunchMode::kernel;
    apply_band(prediction, band_class, chip_evidence(evidence),
               measured ? Validity::validated : Validity::extrapolated);
}

void apply_roofline_band(Prediction& prediction) {
    prediction.low = prediction.lower_bound;
    prediction.high = roofline_band_factor * prediction.time + roofline_band_call;
    prediction.evidence = {};
    prediction.note(note::RooflineOnly{});
}

}  // namespace ridge::model
