#include "measure/statistics/error_summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "hardware/error.h"
#include "measure/statistics/quantile.h"

namespace ridge::measure {

ErrorSummary summarise_errors(std::span<const TimeError> errors) {
    RIDGE_CONTRACT(!errors.empty());
    std::vector<double> absolute;
    std::vector<double> logs;
    std::vector<double> differences;
    ErrorSummary summary{.count = static_cast<std::int64_t>(errors.size())};
    std::int64_t inside = 0;
    for (const TimeError& error : errors) {
        differences.push_back(error.ratio - 1.0);
        absolute.push_back(std::abs(differences.back()));
        logs.push_back(-std::log(error.ratio));
        summary.mean += absolute.back();
        inside += error.inside ? 1 : 0;
    }
    const auto count = static_cast<double>(errors.size());
    summary.mean /= count;
    summary.coverage = static_cast<double>(inside) / count;
    std::sort(absolute.begin(), absolute.end());
    std::sort(logs.begin(), logs.end());
    summary.median = quantile(absolute, 0.5);
    summary.p90 = quantile(absolute, 0.9);
    summary.worst = absolute.back();
    summary.bias = median_of(std::move(differences));
    summary.log_low = quantile(logs, 0.1);
    summary.log_high = quantile(logs, 0.9);
    return summary;
}

}  // namespace ridge::measure
