// A sweep: how a value changes with one parameter, for example the rate of a matmul with its size.
//
// Each series is a class (an alignment, a GPU, an implementation) with its own colour, marker and
// dashes, named at the right edge. Series with the same name share style and legend entry: the
// predicted line and the measured points of one class. Points of one run are joined in the given
// order; two points with the same x are not joined. Limits such as peaks are reference lines.
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
    bool labelled = false;  ///< writes the name next to the point
    std::size_t run = 0;    ///< only points of one run are joined: points that differ only in x
    double order = 0.0;     ///< sorts the key if labelled points are numbered
    std::optional<Origin> origin = {};  ///< by its evidence; that of the series if absent
    std::vector<Term> terms = {};
};

/// Whether the points of a series are marked in addition to being joined.
enum class Markers { shown, hidden };

struct Series {
    std::string name = {};
    std::string detail = {};  ///< second line in the side list, may be empty
    std::vector<SeriesPoint> points = {};
    Drawing drawing = Drawing::line;
    Markers markers = Markers::shown;
    Origin origin = Origin::predicted;
    std::optional<Style> style = {};  ///< `class_style` of its index if absent
    std::string kind = {};            ///< if it is neither predicted nor measured: "datasheet"
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
    std::vector<LegendEntry> samples = {};  ///< more explanations below the chart
    std::vector<std::string> notes = {};
};

/// A linear y axis starts at zero unless values are negative or the axis sets another limit.
[[nodiscard]] Chart sweep_chart(const Sweep& sweep);

}  // namespace ridge::plot
