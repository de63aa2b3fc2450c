// Predicted against measured: one point per record, the line y = x and bands of relative error.
//
// Both axes are logarithmic and share one range, so that a factor is the same distance everywhere
// and the error bands run parallel to the diagonal. Above the diagonal the prediction was too low.
//
//   scatter_chart({.title = "H200, kernel time",
//                  .x = {.title = "Predicted", .unit = "us"},
//                  .y = {.title = "Measured", .unit = "us"},
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
    Axis y = {};
    std::vector<Series> groups = {};              ///< drawn as points whatever their `drawing` says
    std::vector<double> tolerances = {0.1, 0.2};  ///< relative, each between 0 and 1
    std::vector<std::string> notes = {};
};

/// InputError when a tolerance is not between 0 and 1.
[[nodiscard]] Chart scatter_chart(const Scatter& scatter);

}  // namespace ridge::plot
