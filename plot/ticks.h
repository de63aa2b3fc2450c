// Axis ranges and tick marks.
//
// Linear axes step by 1, 2 or 5 times a power of ten. Logarithmic axes label 1-2-5 where there is
// room, else decades, else every n-th decade; a logarithmic range too narrow for that falls back to
// linear steps. An axis whose values double has its marks at these values. Where not every mark is
// labelled the others remain as marks without text.
//
//   ticks({1, 1000}, Scale::log, 4) labels 1, 10, 100, 1000 and marks 2, 5, 20, ...
//
// Limits: values beyond 1e±120 cannot be drawn (`drawable`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/chart.h"

namespace ridge::plot {

/// Of both axes of a chart.
struct Ranges {
    Range x;
    Range y;
};

struct Tick {
    double value = 0.0;
    std::string text = {};  ///< empty for a mark without a label
    bool decade = false;    ///< a power of ten on a logarithmic axis
};

/// Whether a value has a place on an axis: finite, within 1e±120, positive on a log axis.
[[nodiscard]] bool drawable(double value, Scale scale);

/// Marks within the range; at most `most_labels` (2 or more) of them carry text.
[[nodiscard]] std::vector<Tick> ticks(const Range& range, Scale scale, int most_labels);

/// The least of these values where all are powers of two times it, up to four times it or more.
[[nodiscard]] std::optional<double> doubling_of(const std::vector<double>& values);

/// The marks of an axis: its names where it has some, its doubled values, else `ticks`.
[[nodiscard]] std::vector<Tick> axis_ticks(const Axis& axis, const Range& range, int most_labels);

/// The name nearest to a value of an axis of names; empty on other axes and beyond them.
[[nodiscard]] std::string name_at(const Axis& axis, double value);

/// The range widened outwards to 1-2-5 steps. A range without extent is widened around its value.
[[nodiscard]] Range rounded_out(const Range& range, Scale scale);

/// Smallest range that holds all drawable values; [0, 1] or [1, 10] when there are none.
[[nodiscard]] Range range_of(const std::vector<double>& values, Scale scale);

/// The range extended by `fraction` of its length (on the axis) at either end.
[[nodiscard]] Range padded(const Range& range, Scale scale, double fraction);

/// Where a value lies on the axis: 0 at range.low, 1 at range.high.
[[nodiscard]] double position(double value, const Range& range, Scale scale);

/// What the user fixed, and for the rest `automatic`. InputError when low is not below high or a
/// limit cannot be drawn on the axis's scale.
[[nodiscard]] Range resolved(const Axis& axis, const Range& automatic);

}  // namespace ridge::plot
