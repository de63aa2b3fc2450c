// A sweep: how something changes with one parameter, such as the rate of a matmul with its size.
//
// Each series is a class (an alignment, a GPU, an implementation) with its own colour, marker and
// dashes, named at the right edge. Series of one name share style and legend entry: predicted line
// and measured points of one class. Points are joined in the order given where they belong to one
// run; two with the same x are not joined. Limits such as peaks are reference lines.
//
//   sweep_chart({.title = "matmul n^3, A100, bf16",
//                .x = {.title = "m = n = k"}, .y = {.title = "Rate", .unit = "TFLOP/s"},
//                .series = {{.name = "multiple of 128", .points = {...}}}})
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plot/chart.h"

namespace ridge::plot {

enum class Drawing { line, steps, scatter };

struct SeriesPoint {
    double x = 0.0;
    double y = 0.0;
    std::optional<double> low = {};
    std::optional<double> high = {};
    std::string name = {};  ///< title of the tooltip; "x = 1024" when empty
    bool labelled = false;  ///< writes the name beside the point
    std::size_t run = 0;    ///< only points of one run are joined: those that differ in x alone
    double order = 0.0;     ///< sorts the key where labelled points are numbered
    std::vector<Term> terms = {};
};

/// Whether a series' points are marked as well as joined.
enum class Markers { shown, hidden };

struct Series {
    std::string name = {};
    std::string detail = {};  ///< second line in the side list, may be empty
    std::vector<SeriesPoint> points = {};
    Drawing drawing = Drawing::line;
    Markers markers = Markers::shown;
    Origin origin = Origin::predicted;
    std::optional<Style> style = {};  ///< `class_style` of its index when absent
    std::string kind = {};            ///< where it is neither predicted nor measured: "datasheet"
};

/// A horizontal line across the chart.
struct Limit {
    std::string name = {};
    double y = 0.0;
};

/// A region between two horizontal lines.
struct Interval {
    std::string name = {};
    double low = 0.0;
    double high = 0.0;
};

struct Sweep {
    std::string title = {};
    std::string subtitle = {};
    Axis x = {};
    Axis y = {};
    std::vector<Series> series = {};
    std::vector<Limit> limits = {};
    std::vector<Interval> intervals = {};
    std::vector<LegendEntry> samples = {};  ///< further explanations beneath the chart
    std::vector<std::string> notes = {};
};

/// A linear y axis starts at zero unless values are negative or the axis says otherwise.
[[nodiscard]] Chart sweep_chart(const Sweep& sweep);

}  // namespace ridge::plot
