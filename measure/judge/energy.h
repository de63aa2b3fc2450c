// Compares predicted power with records that have energy, and judges the clock at the limit.
//
//   const EnergyJudgement j = judge_energy(validation.comparisons, records, catalogue, view);
//   j.below->mean    // 0.09: of the powers below 95 % of the limit
//
// Method: the prediction of a comparison, for the record's data, beside what the counter said. Below
// 95 % of the power limit the power is judged; nearer to it all powers are alike, so clock and
// period are. A ratio is predicted over measured.
//
// Limits: records whose GPU has no energy parameters are left out.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "measure/judge/validate.h"

namespace ridge::measure {

/// One record with energy and its estimate.
struct EnergyComparison {
    std::size_t record = 0;
    model::EnergyEstimate estimate;
    double power = 1.0;
    double energy = 1.0;
    double period = 1.0;
    std::optional<double> clock{};
    bool at_limit = false;
    bool in_band = false;  ///< measured power within the band
};

struct EnergyJudgement {
    std::vector<EnergyComparison> comparisons;
    std::optional<ErrorSummary> below{};   ///< powers below 95 % of the limit
    std::optional<ErrorSummary> clock{};   ///< clocks at the limit
    std::optional<ErrorSummary> period{};  ///< times at the limit
};

[[nodiscard]] EnergyJudgement judge_energy(std::span<const Comparison> comparisons,
                                           std::span<const Record> records,
                                           const model::Catalogue& catalogue, model::View view);

}  // namespace ridge::measure
