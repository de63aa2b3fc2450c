// Charts of realistic size for the tests, and to look at. The data are invented, but the charts
// have the shape of those that the command line produces.
#pragma once

#include <vector>

#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/sweep.h"

namespace ridge::plot::samples {

/// Three memory roofs, three compute roofs and twelve operations, some of them close together.
[[nodiscard]] Roofline predictions();

/// The same machine with measured and datasheet roofs. Every operation is predicted and measured.
[[nodiscard]] Roofline comparison();

/// A sawtooth over 450 sizes in four alignment classes, with a peak.
[[nodiscard]] Sweep sawtooth();

/// 300 records in five groups about a ratio of 1.
[[nodiscard]] Scatter accuracy();

/// 150 operations of two classes at two levels, predicted and measured.
[[nodiscard]] Roofline crowd();

/// Names along the x axis, each with a dot and its band.
[[nodiscard]] Sweep named(int count);

/// Names that would break a careless renderer.
[[nodiscard]] Roofline hostile();

/// The charts of all samples, and three charts without data.
[[nodiscard]] std::vector<Chart> all_charts();

}  // namespace ridge::plot::samples
