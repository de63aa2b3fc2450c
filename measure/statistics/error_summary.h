// How far predicted times are from measured ones: the one set of figures that `ridge validate`,
// `ridge fit`, the accuracy page and the accuracy tests report.
//
//   const ErrorSummary s = summarise_errors(std::vector<TimeError>{{.ratio = 1.1}, {.ratio = 0.9}});
//   s.mean   // 0.1: of |predicted / measured - 1|
//   s.bias   // 0.0: median of predicted / measured - 1
//
// An error is predicted / measured - 1. Mean, median, p90 and worst are of absolute errors. The
// bias is the median of the signed ones: a mean would be that of the few largest. Log quantiles are
// of ln(measured / predicted), as bands hold them. Quantiles as in `quantile.h`.
#pragma once

#include <cstdint>
#include <span>

namespace ridge::measure {

/// One predicted time beside the measured one.
struct TimeError {
    double ratio = 1.0;  ///< predicted / measured
    bool inside = true;  ///< the measured time lies in the predicted band
};

/// Fractions, not percent.
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

/// Of at least one error.
[[nodiscard]] ErrorSummary summarise_errors(std::span<const TimeError> errors);

}  // namespace ridge::measure
