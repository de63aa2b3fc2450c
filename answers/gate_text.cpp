// The gate's verdict in words.
#include <fmt/format.h>

#include <algorithm>

#include "answers/gate.h"

namespace ridge::answers {
namespace {

std::string change_text(const ItemChange& one) {
    return fmt::format("{} ({:+.1f} %)", one.name, 100.0 * (one.ratio - 1.0));
}

}  // namespace

std::string verdict_of(const GateReport& report) {
    const auto budget = fmt::format("{:.3g} %", 100.0 * report.options.budget);
    if (report.verdict == GateVerdict::not_measured) {
        return report.changes.empty()
                   ? "No verdict: nothing was measured on both sides."
                   : "No verdict: no item was measured well enough on both sides.";
    }
    const auto slower = report.counts[static_cast<std::size_t>(Trend::slower)];
    const std::string all = fmt::format("{:+.1f} % in all", 100.0 * (report.total.ratio - 1.0));
    if (report.verdict == GateVerdict::within) {
        return fmt::format("Within {}: none of {} items is slower by more; {}.", budget,
                           report.changes.size(), all);
    }
    if (slower == 0) return fmt::format("Slower: {}, more than {}.", all, budget);
    std::string text = fmt::format("{} of {} items {} slower by more than {}: ", slower,
                                   report.changes.size(), slower == 1 ? "is" : "are", budget);
    constexpr std::int64_t most = 3;
    for (std::int64_t i = 0; i < std::min(most, slower); ++i) {
        text += (i > 0 ? ", " : "") + change_text(report.changes[static_cast<std::size_t>(i)]);
    }
    return text + (slower > most ? ", ...; " : "; ") + all + ".";
}

}  // namespace ridge::answers
