#include "model/core/unmodelled.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "hardware/units.h"

namespace ridge::model {

void Unmodelled::add(std::string_view reason, std::int64_t operations) {
    const auto known = std::find_if(reasons_.begin(), reasons_.end(),
                                    [reason](const auto& each) { return each.first == reason; });
    if (known == reasons_.end()) {
        reasons_.emplace_back(reason, operations);
    } else {
        known->second += operations;
    }
}

std::int64_t Unmodelled::operations() const {
    return std::accumulate(
        reasons_.begin(), reasons_.end(), std::int64_t{0},
        [](std::int64_t sum, const auto& reason) { return sum + reason.second; });
}

std::vector<std::pair<std::string, std::int64_t>> Unmodelled::reasons() const {
    auto sorted = reasons_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return sorted;
}

std::string Unmodelled::text() const {
    if (empty()) return {};
    constexpr std::size_t shown = 2;
    const auto sorted = reasons();
    std::string why;
    for (std::size_t i = 0; i < std::min(shown, sorted.size()); ++i) {
        why += (i > 0 ? "; " : "") + sorted[i].first;
    }
    if (sorted.size() > shown) why += fmt::format("; and {} more reasons", sorted.size() - shown);
    const std::int64_t count = operations();
    return fmt::format("{} operation{} not modelled ({})", count, count == 1 ? "" : "s", why);
}

std::string text_of_sum(Time sum, const Unmodelled& left_out) {
    if (left_out.empty()) return format(sum);
    return sum > Time{} ? "at least " + format(sum) : "not modelled";
}

}  // namespace ridge::model
