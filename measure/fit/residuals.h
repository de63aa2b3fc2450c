// Errors of predictions against measured times, by class.
//
//   std::vector<Residual> residuals{{.group = "softmax a100", .error = {.ratio = 1.1}}, ...};
//   for (const ResidualSummary& s : summarise(residuals)) ...   // s.group, s.errors.mean
//
// The figures are described in `error_summary.h`.
#pragma once

#include <string>
#include <vector>

#include "measure/statistics/error_summary.h"

namespace ridge::measure {

struct Residual {
    std::string group;
    TimeError error;
};

struct ResidualSummary {
    std::string group;
    ErrorSummary errors;
};

/// One summary per group, sorted by name, then one named "all".
[[nodiscard]] std::vector<ResidualSummary> summarise(const std::vector<Residual>& residuals);

}  // namespace ridge::measure
