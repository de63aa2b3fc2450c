// Errors of predicted times against measured ones: the figures that `ridge validate`, `ridge fit`,
// the accuracy page and the accuracy tests all report.
//
//   const std::vector<TimeError> errors{{.ratio = 1.1}, {.ratio = 0.9}};
//   const ErrorSummary s = summarise_errors(errors);
//   s.mean   // 0.1: of |predicted / measured - 1|
//   s.bias   // 0.0: median of predicted / measured - 1
//
// An error is predicted / measured - 1. Mean, median, p90 and worst describe absolute errors. The
// bias is the median of the signed errors, because a few large errors would dominate a mean. Log
// quantiles are of ln(measured / predicted), as in bands. Quantiles are those of `quantile.h`.
#pragma once

#include <cstdint>
#include <span>

namespace ridge::measure {

/// One predicted time compared with the measured one.
struct TimeError {
    double ratio = 1.0;  ///< predicted / measured
    bool inside = true;  ///< the measured time lies in the predicted band
};

/// All values are fractions, not percent.
struct ErrorSummary {
    std::int64_t count = 0;
    double mean = 0.0;
    double median = 0.0;
    double p90 = 0.0;
    double worst = 0.0;
    double bias = 0.0;
    double log_low = 0.0;   ///< 10 % quantile of ln(measured / predicted)
    double log_high = 0.0;  ///< 90 % quantile
    double coverage = 0.0;  ///< share of measured times inside the band
};

/// Needs at least one error.
[[nodiscard]] ErrorSummary summarise_errors(std::span<const TimeError> errors);

}  // namespace ridge::measure
