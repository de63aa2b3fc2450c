// `ridge sweep ... --power 300:700:50` and `--clock`: an operation at several power limits or clocks.
#pragma once

#include <string>

#include "cli/charts/chart_output.h"
#include "cli/console/context.h"
#include "cli/views/prediction.h"

namespace ridge::cli {

/// What is swept: one of the two texts is a range.
struct PowerSweep {
    std::string power;
    std::string clock;

    [[nodiscard]] bool given() const { return !power.empty() || !clock.empty(); }
};

/// Writes time, power and energy of the operation at each value, and which one takes the least
/// energy; a chart if `format` is empty or "chart". Returns the exit code. InputError if both are
/// given, or the GPU has no energy parameters.
int sweep_power(const Context& context, const PowerSweep& sweep, Answer answer,
                const std::string& format, const ChartOutput& output);

}  // namespace ridge::cli
