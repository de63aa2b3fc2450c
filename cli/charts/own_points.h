// Points of implementations that the model does not know: measured points without a prediction.
//
// A row of a table of times may name any implementation ("my_kernel"). The work of its operation is
// still known, so its rate and its algorithmic intensity can be drawn beside those of the model.
#pragma once

#include <set>
#include <span>

#include "cli/charts/record_charts.h"
#include "cli/charts/roofline_charts.h"
#include "cli/input/machines.h"

namespace ridge::cli {

/// Adds the points at their algorithmic intensity; returns the positions of the records drawn.
[[nodiscard]] std::set<std::size_t> add_own_points(RooflineCharts& charts,
                                                   const measure::Validation& validation,
                                                   std::span<const measure::Record> records,
                                                   Machines& machines);

/// Adds the points over the count `x`, with a class for each implementation.
[[nodiscard]] std::set<std::size_t> add_own_series(plot::Sweep& sweep,
                                                   const measure::Validation& validation,
                                                   std::span<const measure::Record> records,
                                                   Machines& machines, model::Field x,
                                                   Ordinate ordinate);

}  // namespace ridge::cli
