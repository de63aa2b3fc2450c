// Charts of realistic size for the tests and for looking at: made up, but of the shape that the
// command line produces.
#pragma once

#include <vector>

#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/sweep.h"

namespace ridge::plot::samples {

/// Three memory and three compute roofs, twelve operations, some of them close together.
[[nodiscard]] Roofline predictions();

/// The same machine with measured and datasheet roofs; every operation predicted and measured.
[[nodiscard]] Roofline comparison();

/// A sawtooth over 450 sizes in four alignment classes, with a peak.
[[nodiscard]] Sweep sawtooth();

/// 300 records in five groups about a ratio of 1.
[[nodiscard]] Scatter accuracy();

/// 150 operations of two classes at two levels, predicted and measured.
[[nodiscard]] Roofline crowd();

/// Names along the x axis, a dot with its band for each.
[[nodiscard]] Sweep named(int count);

/// Names that would break a careless writer.
[[nodiscard]] Roofline hostile();

/// The charts of all of these, and of nothing.
[[nodiscard]] std::vector<Chart> all_charts();

}  // namespace ridge::plot::samples
