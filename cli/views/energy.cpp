#include "cli/views/energy.h"

#include <fmt/format.h>

#include "hardware/units.h"

namespace ridge::cli {
namespace {

using model::ClockLimit;
using model::EnergyEstimate;
using model::Prediction;

std::string efficiency_text(double flop_per_j) {
    constexpr double second = 1.0;
    // FLOP/J is FLOP/s per watt.
    std::string rate = format(FlopRate::from_base(flop_per_j / second));
    return rate.substr(0, rate.rfind("/s")) + "/J";
}

}  // namespace

double flop_per_joule(const Prediction& p) {
    if (!p.energy || p.energy->energy <= Energy{}) return 0.0;
    return p.work.flop().base() / p.energy->energy.base();
}

std::string energy_text(const Prediction& p) {
    if (!p.energy) return {};
    const EnergyEstimate& e = *p.energy;
    std::string text = fmt::format("{} (80 % band {} to {}), {} a run", format(e.power),
                                   format(e.power_low), format(e.power_high), format(e.energy));
    if (const double per_joule = flop_per_joule(p); per_joule > 0.0) {
        text += ", " + efficiency_text(per_joule);
    }
    const std::string evidence = energy_evidence_text(e);
    return evidence.empty() ? text : text + "; " + evidence;
}

std::string energy_evidence_text(const EnergyEstimate& e) {
    if (e.asked_conditions) return "not measured at this limit or clock";
    switch (e.evidence) {
        case model::ChipEvidence::own:
            return {};
        case model::ChipEvidence::relative:
            return "not measured: from a GPU of its architecture";
        default:
            return "not measured: by laws from another GPU";
    }
}

std::string steady_text(const Prediction& p) {
    if (!p.energy || p.energy->limit == ClockLimit::none) return {};
    const EnergyEstimate& e = *p.energy;
    const std::string clock = format(e.clock, 4);
    if (e.limit == ClockLimit::current) {
        return fmt::format("tensor cores hold the clock at {} below the power limit", clock);
    }
    const std::string_view cause =
        e.limit == ClockLimit::power ? "the power limit holds" : "the question holds";
    return fmt::format("{} the clock at {} in steady work, {} a run", cause, clock,
                       format(e.period, 4));
}

void add_energy(Json& json, const Prediction& p) {
    if (!p.energy) return;
    const EnergyEstimate& e = *p.energy;
    json["power_w"] = e.power.base();
    json["power_low_w"] = e.power_low.base();
    json["power_high_w"] = e.power_high.base();
    json["energy_j"] = e.energy.base();
    json["energy_low_j"] = e.energy_low.base();
    json["energy_high_j"] = e.energy_high.base();
    json["flop_per_j"] = flop_per_joule(p);
    const std::string evidence = energy_evidence_text(e);
    json["steady"] = {{"period_us", e.period.in(units::us)},
                      {"clock_mhz", e.clock.in(units::MHz)},
                      {"limited_by", name_of(e.limit)},
                      {"idle_w", e.idle.base()},
                      {"evidence", evidence.empty() ? std::string("measured") : evidence}};
}

const std::vector<std::string>& energy_columns() {
    static const std::vector<std::string> columns{"power_w",   "power_low_w",  "power_high_w",
                                                  "energy_j",  "energy_low_j", "energy_high_j",
                                                  "flop_per_j"};
    return columns;
}

std::optional<std::array<double, 7>> energy_values(const Prediction& p) {
    if (!p.energy) return std::nullopt;
    const EnergyEstimate& e = *p.energy;
    return std::array{e.power.base(),   e.power_low.base(),  e.power_high.base(),
                      e.energy.base(),  e.energy_low.base(), e.energy_high.base(),
                      flop_per_joule(p)};
}

Json json_of(const model::StepEnergy& step) {
    return {{"power_w", step.power.base()},
            {"energy_j", step.energy.base()},
            {"energy_low_j", step.low.base()},
            {"energy_high_j", step.high.base()}};
}

}  // namespace ridge::cli
