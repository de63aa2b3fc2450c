// A timeline: bars in lanes over time, such as the kernels of each stream.
//
//   timeline_chart({.title = "One step",
//                   .unit = "ms",
//                   .lanes = {"stream 7"},
//                   .sorts = {{.name = "gemm", .series = "product", .color = Color::blue}},
//                   .bars = {{.from = 0.0, .to = 0.4, .lane = 0, .sort = 0}}})
//
// The first lane is at the top. The page zooms and pans only along time, names the bars that have
// room and shows the start and duration of each; the legend switches the series.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plot/chart.h"

namespace ridge::plot {

struct TimelineBar {
    double from = 0.0;
    double to = 0.0;
    std::size_t lane = 0;
    std::size_t sort = 0;
};

struct Timeline {
    std::string title = {};
    std::string subtitle = {};
    std::string unit = {};  ///< of time: "s", "ms", "us" or "ns"
    std::vector<std::string> lanes = {};
    std::vector<SpanSort> sorts = {};
    std::vector<TimelineBar> bars = {};
    std::vector<std::string> notes = {};
};

/// InputError if a bar refers to a lane or sort that does not exist, or if its times are not finite
/// and in order.
[[nodiscard]] Chart timeline_chart(const Timeline& timeline);

}  // namespace ridge::plot
