// Power and energy of a model's step, as text and JSON.
#pragma once

#include <optional>

#include "cli/console/context.h"
#include "cli/views/model_step.h"
#include "hardware/json.h"
#include "model/energy/sum.h"

namespace ridge::cli {

/// Of one GPU, while the step repeats; empty if a part has no energy.
[[nodiscard]] std::optional<model::StepEnergy> energy_of(const StepAnswer& answer);

/// Power of one GPU, energy of all that share a batch.
void add_step_energy(Json& json, const StepAnswer& answer);
void write_step_energy(const Context& context, const StepAnswer& answer);

}  // namespace ridge::cli
