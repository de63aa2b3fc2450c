// Axis ranges and tick marks.
//
// Linear axes step by 1, 2 or 5 times a power of ten. Logarithmic axes label 1-2-5 if there is
// room, else decades, else every n-th decade; if a logarithmic range is too narrow for that, it
// gets linear steps. An axis whose values double has its ticks at these values. If not every tick
// is labelled, the others remain as ticks without text.
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

/// The ranges of both axes of a chart.
struct Ranges {
    Range x;
    Range y;
};

struct Tick {
    double value = 0.0;
    std::string text = {};  ///< empty for a mark without a label
    bool decade = false;    ///< a power of ten on a logarithmic axis
};

/// Whether a value has a position on an axis: finite, within 1e±120, positive on a logarithmic
/// axis.
[[nodiscard]] bool drawable(double value, Scale scale);

/// Ticks within the range; at most `most_labels` (2 or more) of them have text.
[[nodiscard]] std::vector<Tick> ticks(const Range& range, Scale scale, int most_labels);

/// The smallest of these values if all of them are powers of two times it, and the largest at least
/// four times it.
[[nodiscard]] std::optional<double> doubling_of(const std::vector<double>& values);

/// The ticks of an axis: its names if it has any, else its doubled values, else `ticks`.
[[nodiscard]] std::vector<Tick> axis_ticks(const Axis& axis, const Range& range, int most_labels);

/// The name nearest to a value on an axis of names; empty on other axes and outside its range.
[[nodiscard]] std::string name_at(const Axis& axis, double value);

/// The range widened outwards to 1-2-5 steps. A range without extent is widened around its value.
[[nodiscard]] Range rounded_out(const Range& range, Scale scale);

/// Smallest range that contains all drawable values; [0, 1] or [1, 10] if there are none.
[[nodiscard]] Range range_of(const std::vector<double>& values, Scale scale);

/// The range extended by `fraction` of its length (on the axis) at either end.
[[nodiscard]] Range padded(const Range& range, Scale scale, double fraction);

/// Position of a value on the axis: 0 at range.low, 1 at range.high.
[[nodiscard]] double position(double value, const Range& range, Scale scale);

/// The limits that the user fixed, and `automatic` for the others. InputError if low is not below
/// high or a limit cannot be drawn on the axis's scale.
[[nodiscard]] Range resolved(const Axis& axis, const Range& automatic);

}  // namespace ridge::plot
