// Errors of predictions against measured times, by class.
//
//   std::vector<Residual> residuals{{.group = "softmax a100", .ratio = predicted / measured}, ...};
//   for (const ResidualSummary& s : summarise(residuals)) ...   // mean, median, p90, bias,
//   quantiles
//
// An error is |predicted / measured - 1|; the log quantiles are of ln(measured / predicted), as
// bands use them. Quantiles interpolate linearly between order statistics.
#pragma once

#include <string>
#include <vector>

namespace ridge::measure {

struct Residual {
    std::string group;
    double ratio = 1.0;  ///< predicted / measured
    bool inside = true;  ///< the measured time lies in the predicted band
};

struct ResidualSummary {
    std::string group;
    std::size_t count = 0;
    double mean = 0.0;  ///< of the errors
    double median = 0.0;
    double p90 = 0.0;
    double worst = 0.0;
    double bias = 0.0;  ///< mean of predicted / measured - 1
    double low = 0.0;   ///< 10 % quantile of ln(measured / predicted)
    double high = 0.0;  ///< 90 % quantile
    double coverage = 0.0;
};

/// One summary per group, sorted by name, then one named "all".
[[nodiscard]] std::vector<ResidualSummary> summarise(const std::vector<Residual>& residuals);

}  // namespace ridge::measure
