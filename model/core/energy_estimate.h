// What an operation draws from the board's supply, as part of a prediction.
//
//   if (prediction.energy) prediction.energy->power       // 612 W
//
// It is that of steady work: the same operation again and again for seconds, as a server or a
// training run does, long enough for the power limit to lower the clock. Where it does, one run
// takes longer than the predicted time of a short burst; `period` says how long.
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/quantity.h"
#include "model/core/grounds.h"

namespace ridge::model {

/// What holds the clock of the multiprocessors in steady work.
enum class ClockLimit : std::uint8_t {
    none,     ///< the highest clock
    current,  ///< the tensor cores, which the GPU runs at a lower clock whatever they draw
    power,    ///< the power limit
    asked     ///< a clock that the question names
};

[[nodiscard]] std::string_view name_of(ClockLimit limit);

struct EnergyEstimate {
    Power power;      ///< mean of the board
    Power power_low;  ///< 80 % band
    Power power_high;
    Energy energy;  ///< of one run: power times period
    Energy energy_low;
    Energy energy_high;
    Power idle;   ///< of the GPU between kernels, clocks up; part of `power`
    Time period;  ///< from one run to the next
    Frequency clock;
    ClockLimit limit = ClockLimit::none;
    ChipEvidence evidence = ChipEvidence::foreign;
    bool asked_conditions = false;  ///< another limit or clock than the GPU's own: not measured
};

}  // namespace ridge::model
