// How well power and energy of measured records were predicted, as text, JSON and CSV.
#pragma once

#include <span>

#include "cli/console/context.h"
#include "hardware/json.h"
#include "measure/judge/energy.h"

namespace ridge::cli {

/// Writes nothing if no record has energy.
void write_energy_judgement(const Context& context, const measure::EnergyJudgement& judgement);

[[nodiscard]] Json to_json(const measure::EnergyJudgement& judgement,
                           std::span<const measure::Record> records);

}  // namespace ridge::cli
