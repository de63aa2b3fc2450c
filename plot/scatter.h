// How far predictions are from measurements: predicted over measured time, against the time.
//
// One point per record. The line at 1 is an exact prediction; above it the predicted time is too
// long, below it too short, as in the errors of `ridge validate`, which are this ratio minus 1.
// Both axes are logarithmic, so twice and half are at the same distance. Lines are drawn at the
// tolerances, 1 + t and 1 - t. If there are few points, they carry their bands as error bars.
//
//   scatter_chart({.title = "H200, kernel time",
//                  .x = {.title = "Measured time", .unit = "us"},
//                  .groups = {{.name = "matmul", .detail = "n = 120", .points = {...}}},
//                  .tolerances = {0.1, 0.2}})
#pragma once

#include <string>
#include <vector>

#include "plot/chart.h"
#include "plot/sweep.h"

namespace ridge::plot {

struct Scatter {
    std::string title = {};
    std::string subtitle = {};
    Axis x = {};
    Axis y = {.title = "Predicted / measured time", .scale = Scale::log};
    std::vector<Series> groups = {};              ///< drawn as points, whatever their `drawing` is
    std::vector<double> tolerances = {0.1, 0.2};  ///< relative, each between 0 and 1
    std::vector<std::string> notes = {};
};

/// InputError if a tolerance is not between 0 and 1.
[[nodiscard]] Chart scatter_chart(const Scatter& scatter);

}  // namespace ridge::plot
