// Power and energy of an operation in steady work, from its prediction.
//
//   const auto own = energy_of(prediction, DataType::bf16, machine);           // at the GPU's limit
//   const auto capped = energy_of(prediction, DataType::bf16, machine, {.limit = 400.0 * W});
//   capped->power, capped->energy, capped->clock, capped->period
//
// Method (docs/model.md EN1 to EN8): energy = idle power x period + energy per FLOP by pipe and type,
// per byte by level, and the power of multiprocessors that issue, each times its amount in the
// prediction. What runs on the chip takes less at a lower clock. The clock is the highest at which
// the power keeps the limit, and the period follows from it: one fixed point for both.
//
// Limits: voltage is not known; the exponent of the clock is from a source. Work whose prediction
// has no terms (a roofline) counts FLOP and bytes only. Hosts, fans and power supplies of the server
// are not included.
#pragma once

#include <optional>

#include "hardware/quantity.h"
#include "model/core/data_pattern.h"
#include "model/core/data_type.h"
#include "model/core/energy_estimate.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// What the question changes of the GPU's own conditions.
struct EnergyConditions {
    DataPattern data = DataPattern::normal;
    std::optional<Power> limit{};
    std::optional<Frequency> clock{};  ///< highest clock
    std::optional<double> celsius{};   ///< temperature of the GPU
};

/// Whether the conditions change anything.
[[nodiscard]] inline bool is_given(const EnergyConditions& conditions) {
    return conditions.data != DataPattern::normal || conditions.limit || conditions.clock ||
           conditions.celsius;
}

/// Energy at the boost clock, by where it goes. (eq. EN1 to EN3)
struct EnergyParts {
    Power always;         ///< idle and running
    Energy chip;          ///< falls with the clock
    Energy memory;        ///< DRAM and links
    double loaded = 0.0;  ///< share of the tensor peak that the operation reaches
};

[[nodiscard]] EnergyParts energy_parts(const Prediction& prediction, DataType type,
                                       const EnergyParameters& parameters, DataPattern data);

/// Empty if the GPU has no energy parameters or the prediction takes no time.
[[nodiscard]] std::optional<EnergyEstimate> energy_of(const Prediction& prediction, DataType type,
                                                      const Machine& machine,
                                                      const EnergyConditions& conditions = {});

}  // namespace ridge::model
