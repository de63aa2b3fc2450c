#include "model/residual/correction.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "model/core/fields.h"
#include "model/roof/band_data.h"

namespace ridge::model {
namespace {

/// Boxes extend at least this far on either side of their middle, so that a feature that the data
/// do not vary stays comparable.
constexpr double least_half_width = 0.25;

/// Of the launches of all kernels of a call, a correction leaves at least this part: 1 / 1.2. (K3)
constexpr double most_off_launch = 1.2;

/// std::max by value, which compilers turn into one instruction for several numbers.
double larger(double one, double other) {
    return one > other ? one : other;
}

/// Takes the larger of each pair, several pairs in one instruction.
template <std::size_t half = most_residual_features / 2>
double largest(FeatureValues& values) {
    for (std::size_t i = 0; i < half; ++i) values[i] = larger(values[i], values[i + half]);
    if constexpr (half == 1) {
        return values[0];
    } else {
        return largest<half / 2>(values);
    }
}

/// A shape less aligned than all data takes the correction of the least aligned. (K2)
bool is_alignment(std::string_view feature) {
    return feature.starts_with("align");
}

/// Widens the band around the time; the lower end stays above the bound.
void widen_band(Prediction& p, double factor) {
    if (factor == 1.0) return;
    p.low = std::min(p.time, std::max(p.time - factor * (p.time - p.low), p.lower_bound));
    p.high = p.time + factor * (p.high - p.time);
}

}  // namespace

double fade_of(const ResidualFeatures& features, const ResidualFit& fit) {
    return fade_of(features.values, residual_features(features.residual_class), fit.range,
                   has_l2_feature(features.residual_class));
}

double fade_of(const FeatureValues& values, FeatureNames names, const ResidualRange& range,
               bool l2_last) {
    const auto& [least, most] = range;
    FeatureValues off;  // distance from the range of the data; not above 0 inside
    for (std::size_t i = 0; i < most_residual_features; ++i) {
        off[i] = larger(least[i] - values[i], values[i] - most[i]);
    }
    if (largest(off) <= 0.0) return 1.0;
    constexpr double steepness = 2.0;  // nothing is left half a half-width beyond the box
    double beyond = 0.0;
    const std::size_t count = names.size();
    for (std::size_t i = 0; i < count; ++i) {
        // Data for only one state of the L2 say nothing about the other states.
        if (l2_last && i + 1 == count && least[i] == most[i]) continue;
        if (is_alignment(names[i])) continue;
        const double half = std::max(0.5 * (most[i] - least[i]), least_half_width);
        const double from_middle = std::abs(values[i] - 0.5 * (least[i] + most[i]));
        if (from_middle > half) beyond += from_middle / half - 1.0;
    }
    return std::max(0.0, 1.0 - steepness * beyond);
}

Correction correction_of(const ResidualFeatures& features, const ResidualFit& fit) {
    const double fade = fade_of(features, fit);
    if (!(fade > 0.0)) return {};
    const double largest = largest_log_correction(features.residual_class);
    const double sum = fit.forest.at(features.values);
    return {.log_factor = fade * std::clamp(sum, -largest, largest), .fade = fade};
}

bool apply_correction(Prediction& prediction, Time kernels, const Operation& operation,
                      const Execution& execution, const Machine& machine) {
    if (machine.residuals == nullptr || prediction.evidence.chip == ChipEvidence::datasheet)
        return false;
    const auto features =
        residual_features_of(operation, execution, prediction, machine, machine.residuals.get());
    const double of_kernel = width_of_kernel(kind_of(operation), prediction.implementation);
    if (!features) {
        if (prediction.band_class != BandClass::host_call) widen_band(prediction, of_kernel);
        return false;
    }
    const ResidualFit& fit = *machine.residuals->find(features->residual_class);
    const bool holds = fit.implementation == prediction.implementation ||
                       has_kernel_feature(features->residual_class);
    if (!holds) return false;
    const Correction correction = correction_of(*features, fit);
    Prediction& p = prediction;
    Time least = std::max(p.lower_bound, machine.kernel_floor);
    if (p.bandwidth > Bandwidth{}) least = std::max(least, p.work.dram() / p.bandwidth);
    // In a stream, the term of the launches holds what the host adds.
    if (execution.launch != LaunchMode::stream) {
        for (const Term& term : p.terms) {
            if (term.resource == Resource::launch)
                least = std::max(least, term.time / most_off_launch);
        }
    }
    const bool torch = is_torch(features->residual_class);
    if (torch && machine.memory && machine.memory->torch) {
        least = std::max(least, machine.kernel_floor + machine.memory->torch->first_l2);
    }
    const Time corrected =
        std::max(kernels * std::exp(correction.log_factor), std::min(least, kernels));
    const Time time = corrected + (p.time - kernels);
    p.correction = time / p.time;
    // The time that a call waits for the host says nothing about its kernel, so the host's band
    // keeps its width.
    const double beyond = band_data().factors.beyond_data;
    const bool waits = p.band_class == BandClass::host_call;
    const double spread = fit.spread * of_kernel * width_at(p.band_class, kernels);
    const double narrowed = waits ? 1.0 : beyond + correction.fade * (spread - beyond);
    const double width = narrowed * p.correction;
    p.low = std::min(time, std::max(time - width * (p.time - p.low), p.lower_bound));
    p.high = std::max(time, time + width * (p.high - p.time));
    p.time = time;
    // Which of an optimizer's two kernels runs may depend on the state of the L2.
    return torch || has_l2_feature(features->residual_class);
}

Time longest_corrected(const Prediction& prediction) {
    constexpr double rounding = 1.0 + 1e-9;
    return rounding * largest_correction() * prediction.time;
}

void keep_above(Prediction& prediction, Time least) {
    Prediction& p = prediction;
    if (p.time >= least) return;
    p.correction *= least / p.time;
    p.high = std::max(p.high, least);
    p.time = least;
}

}  // namespace ridge::model
