#include "cli/views/energy_judgement.h"

#include <fmt/format.h>

#include <ostream>
#include <string>

namespace ridge::cli {
namespace {

using measure::EnergyComparison;
using measure::EnergyJudgement;
using measure::ErrorSummary;

std::string line_of(const char* what, const std::optional<ErrorSummary>& s) {
    if (!s) return {};
    return fmt::format("  {:<32} {:>4}  mean {:.1f} %, median {:.1f} %, bias {:+.1f} %\n", what,
                       s->count, 100.0 * s->mean, 100.0 * s->median, 100.0 * s->bias);
}

Json json_of(const std::optional<ErrorSummary>& s) {
    if (!s) return {};
    return {{"count", s->count},
            {"mean", s->mean},
            {"median", s->median},
            {"p90", s->p90},
            {"bias", s->bias}};
}

}  // namespace

void write_energy_judgement(const Context& context, const EnergyJudgement& judgement) {
    if (judgement.comparisons.empty()) return;
    context.out << "\nPower and energy\n"
                << line_of("power below 95 % of the limit", judgement.below)
                << line_of("clock at the limit", judgement.clock)
                << line_of("time at the limit", judgement.period);
    if (judgement.below) {
        context.out << fmt::format("  {:.0f} % of these powers inside the 80 % band\n",
                                   100.0 * judgement.below->coverage);
    }
}

Json to_json(const EnergyJudgement& judgement, std::span<const measure::Record> records) {
    Json rows = Json::array();
    for (const EnergyComparison& each : judgement.comparisons) {
        const measure::Record& record = records[each.record];
        rows.push_back({{"question", canonical_text(record.question)},
                        {"measured_w", record.energy->power.base()},
                        {"power_w", each.estimate.power.base()},
                        {"power", each.power},
                        {"energy", each.energy},
                        {"period", each.period},
                        {"clock", each.clock ? Json(*each.clock) : Json()},
                        {"at_limit", each.at_limit},
                        {"in_band", each.in_band}});
    }
    return {{"below_limit", json_of(judgement.below)},
            {"clock_at_limit", json_of(judgement.clock)},
            {"time_at_limit", json_of(judgement.period)},
            {"records", std::move(rows)}};
}

}  // namespace ridge::cli
