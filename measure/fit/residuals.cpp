#include "measure/fit/residuals.h"

#include <map>

namespace ridge::measure {

std::vector<ResidualSummary> summarise(const std::vector<Residual>& residuals) {
    std::map<std::string, std::vector<TimeError>> groups;
    std::vector<TimeError> all;
    all.reserve(residuals.size());
    for (const Residual& residual : residuals) {
        groups[residual.group].push_back(residual.error);
        all.push_back(residual.error);
    }
    std::vector<ResidualSummary> summaries;
    summaries.reserve(groups.size() + 1);
    for (const auto& [group, errors] : groups) {
        summaries.push_back({.group = group, .errors = summarise_errors(errors)});
    }
    if (!all.empty()) summaries.push_back({.group = "all", .errors = summarise_errors(all)});
    return summaries;
}

}  // namespace ridge::measure
