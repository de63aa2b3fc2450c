// Power and energy of a prediction as text, JSON and cells.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "hardware/json.h"
#include "model/core/prediction.h"
#include "model/energy/sum.h"

namespace ridge::cli {

/// "612 W (80 % band 560 W to 665 W), 1.01 mJ a run, 1.09 TFLOP/J"; empty without an estimate.
[[nodiscard]] std::string energy_text(const model::Prediction& prediction);

/// What holds the clock in steady work, and how long a run then takes; empty if nothing does.
[[nodiscard]] std::string steady_text(const model::Prediction& prediction);

/// "not measured: by the laws for ..."; empty if the coefficients are this GPU's own.
[[nodiscard]] std::string energy_evidence_text(const model::EnergyEstimate& energy);

/// FLOP per joule of the board; zero without an estimate or FLOP.
[[nodiscard]] double flop_per_joule(const model::Prediction& prediction);

/// Adds `power_w` to `energy`, as docs/prediction.schema.json describes them.
void add_energy(Json& json, const model::Prediction& prediction);

/// power_w, power_low_w, power_high_w, energy_j, energy_low_j, energy_high_j, flop_per_j: in base
/// units, or empty.
[[nodiscard]] const std::vector<std::string>& energy_columns();
[[nodiscard]] std::optional<std::array<double, 7>> energy_values(
    const model::Prediction& prediction);

/// What a step of a model or a list of operations takes, while it repeats.
[[nodiscard]] Json json_of(const model::StepEnergy& step);

}  // namespace ridge::cli
