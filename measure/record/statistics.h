// Statistics of timing samples: robust location, spread, and the uncertainty of the location.
//
//   const Statistics s = summarise({1.0, 1.1, 0.9, 1.05, 0.95});   // s.median == 1.0
//
// Method: quantiles are those of `quantile.h`. The confidence interval of the median is the
// narrowest pair of order statistics, symmetric about the middle, that covers the median with at
// least 95 % under the binomial distribution with p = 1/2. This needs no assumption about the shape
// of the distribution. Drift compares the medians of the first and the second half of the samples,
// in the order in which they were taken.
//
// Limits: below six samples no pair of order statistics covers 95 %. The interval is then the whole
// range, and `confidence` says how much it covers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measure/record/observation.h"
#include "measure/statistics/quantile.h"

namespace ridge::measure {

struct Statistics {
    std::int64_t count = 0;
    double median = 0.0;
    double p5 = 0.0;
    double p95 = 0.0;
    double low = 0.0;  ///< confidence interval of the median
    double high = 0.0;
    double confidence = 0.0;  ///< probability that the interval covers the median
    double drift = 0.0;       ///< median of the second half over the median of the first, minus 1

    /// Half the width of the interval, over the median.
    [[nodiscard]] double relative_half_width() const;

    friend bool operator==(const Statistics&, const Statistics&) = default;
};

/// Positions (from 0) of the order statistics that bound the median of `count` samples with at
/// least `confidence`, and the confidence that they reach.
struct OrderInterval {
    std::int64_t low = 0;
    std::int64_t high = 0;
    double confidence = 0.0;
};
[[nodiscard]] OrderInterval median_interval(std::int64_t count, double confidence = 0.95);

/// Statistics of values in the order in which they were taken; there must be at least one.
[[nodiscard]] Statistics summarise(std::span<const double> values);

/// Times, in seconds, of the samples that were not throttled, in order.
[[nodiscard]] std::vector<double> steady_times(std::span<const Sample> samples);

}  // namespace ridge::measure
