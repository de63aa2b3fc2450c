// Quantiles of samples: the one definition that statistics, errors, fits and charts share.
//
//   quantile(sorted, 0.9)          // values in ascending order
//   median_of({3.0, 1.0, 2.0})     // 2.0: values in any order
//
// Method: linear interpolation between order statistics at position q (n - 1) (Hyndman and Fan,
// "Sample Quantiles in Statistical Packages", 1996, type 7; `statistics.quantiles` of Python with
// method "inclusive").
#pragma once

#include <span>
#include <vector>

namespace ridge::measure {

/// Quantile `q` in [0, 1] of sorted values; there must be at least one.
[[nodiscard]] double quantile(std::span<const double> sorted, double q);

/// Median of values in any order; there must be at least one.
[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace ridge::measure
