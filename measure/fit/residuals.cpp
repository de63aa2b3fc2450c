#include "measure/fit/residuals.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

double sorted_quantile(const std::vector<double>& sorted, double q) {
    const double at = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

ResidualSummary summary_of(const std::string& group,
                           const std::vector<const Residual*>& residuals) {
    RIDGE_CONTRACT(!residuals.empty());
    std::vector<double> errors;
    std::vector<double> logs;
    ResidualSummary summary{.group = group, .count = residuals.size()};
    for (const Residual* residual : residuals) {
        errors.push_back(std::abs(residual->ratio - 1.0));
        logs.push_back(-std::log(residual->ratio));
        summary.mean += errors.back();
        summary.bias += residual->ratio - 1.0;
        summary.coverage += residual->inside ? 1.0 : 0.0;
    }
    const auto count = static_cast<double>(residuals.size());
    summary.mean /= count;
    summary.bias /= count;
    summary.coverage /= count;
    std::sort(errors.begin(), errors.end());
    std::sort(logs.begin(), logs.end());
    summary.median = sorted_quantile(errors, 0.5);
    summary.p90 = sorted_quantile(errors, 0.9);
    summary.worst = errors.back();
    summary.low = sorted_quantile(logs, 0.1);
    summary.high = sorted_quantile(logs, 0.9);
    return summary;
}

}  // namespace

std::vector<ResidualSummary> summarise(const std::vector<Residual>& residuals) {
    std::map<std::string, std::vector<const Residual*>> groups;
    std::vector<const Residual*> all;
    all.reserve(residuals.size());
    for (const Residual& residual : residuals) {
        groups[residual.group].push_back(&residual);
        all.push_back(&residual);
    }
    std::vector<ResidualSummary> summaries;
    summaries.reserve(groups.size() + 1);
    for (const auto& [group, members] : groups) summaries.push_back(summary_of(group, members));
    if (!all.empty()) summaries.push_back(summary_of("all", all));
    return summaries;
}

}  // namespace ridge::measure
