// Power and energy of an operation in steady work, as a record keeps them, and how they follow from
// readings of an energy counter.
//
//   const SteadyRun run = ...;               // what a device saw: steps of its counter, finished runs
//   const Maybe<EnergyMeasurement> found = energy_of(run);
//   // 512 W, 1.31 mJ a run, error 0.2 %
//
// Method: the counter moves in steps (on Hopper every 20 to 100 ms). The window lasts from its first
// step to its last, so neither the period of the counter nor its lag changes the power of steady
// work. Energy of one run is that power times the time of one run, which the finished runs give.
// Nothing is subtracted: idle power stands beside it.
//
// The error is twice the longest time between the polls that saw the first and the last step, over
// the window, together with the standard error of the slope of all steps.
//
// Limits: the absolute accuracy of the board's sensors is theirs (about 5 W). Work that is not
// steady, such as a clock that still falls, has the mean of its window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/json.h"
#include "hardware/quantity.h"
#include "measure/record/observation.h"

namespace ridge::measure {

/// A step of the counter, when a poll saw it.
struct CounterStep {
    Time at;
    Energy total;
    Time gap;  ///< since the poll before
};

/// Runs that were finished at a time, since the first.
struct FinishedRuns {
    Time at;
    std::int64_t runs = 0;
};

/// What a device saw while the same work went on.
struct SteadyRun {
    std::vector<CounterStep> steps{};      ///< in order of time
    std::vector<FinishedRuns> finished{};  ///< likewise; empty when the device was idle
    std::vector<Environment> states{};     ///< a few per second
};

struct EnergyMeasurement {
    Power power;    ///< mean of the window
    Energy energy;  ///< of one run
    Time time;      ///< of one run in steady work
    Time window;
    std::int64_t runs = 0;
    Time update;                     ///< median time between two steps of the counter
    double error = 0.0;              ///< relative, of the power
    std::optional<Power> idle{};     ///< with a context, clocks down
    std::optional<Power> idle_up{};  ///< right after work, clocks still up
    std::optional<Power> limit{};
    std::optional<double> temperature_celsius{};  ///< mean of the window
    std::optional<Frequency> clock{};             ///< mean SM clock of the window
    std::vector<std::string> clock_reasons{};

    friend bool operator==(const EnergyMeasurement&, const EnergyMeasurement&) = default;
};

/// Unavailable when the counter did not move twice, or no two runs were finished.
[[nodiscard]] Maybe<EnergyMeasurement> energy_of(const SteadyRun& run);

/// Power alone, of a device that does nothing or anything.
[[nodiscard]] Maybe<Power> power_of(const SteadyRun& run);

[[nodiscard]] Json json_of(const EnergyMeasurement& measurement);

/// InputError when a member is missing or has another type.
[[nodiscard]] EnergyMeasurement energy_measurement_in(const Json& json);

}  // namespace ridge::measure
