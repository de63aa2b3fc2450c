#include "measure/judge/energy.h"

#include <map>

#include "model/core/operation.h"
#include "model/energy/energy.h"

namespace ridge::measure {
namespace {

constexpr double near_limit = 0.95;

bool is_at_limit(const EnergyMeasurement& measured, const model::Machine& machine) {
    const Power limit = measured.limit.value_or(machine.power_limit);
    return limit > Power{} && measured.power >= near_limit * limit;
}

EnergyComparison compared(std::size_t record, const EnergyMeasurement& measured,
                          const model::EnergyEstimate& estimate, bool at_limit) {
    EnergyComparison c;
    c.record = record;
    c.estimate = estimate;
    c.power = estimate.power / measured.power;
    c.energy = estimate.energy / measured.energy;
    c.period = estimate.period / measured.time;
    if (measured.clock) c.clock = estimate.clock / *measured.clock;
    c.at_limit = at_limit;
    c.in_band = measured.power >= estimate.power_low && measured.power <= estimate.power_high;
    return c;
}

std::optional<ErrorSummary> summary_of(const std::vector<TimeError>& errors) {
    if (errors.empty()) return std::nullopt;
    return summarise_errors(errors);
}

}  // namespace

EnergyJudgement judge_energy(std::span<const Comparison> comparisons,
                             std::span<const Record> records, const model::Catalogue& catalogue,
                             model::View view) {
    EnergyJudgement judgement;
    std::map<std::string, model::Machine> machines;
    std::vector<TimeError> powers;
    std::vector<TimeError> clocks;
    std::vector<TimeError> periods;
    for (const Comparison& each : comparisons) {
        const Record& record = records[each.record];
        if (!record.energy) continue;
        auto machine = machines.find(each.device);
        if (machine == machines.end()) {
            machine = machines.emplace(each.device, catalogue.machine(each.device, view)).first;
        }
        const auto estimate = energy_of(each.prediction, type_of(record.question.operation),
                                        machine->second, {.data = record.question.pattern});
        if (!estimate) continue;
        judgement.comparisons.push_back(compared(each.record, *record.energy, *estimate,
                                                 is_at_limit(*record.energy, machine->second)));
        const EnergyComparison& c = judgement.comparisons.back();
        if (!c.at_limit) {
            powers.push_back({.ratio = c.power, .inside = c.in_band});
            continue;
        }
        periods.push_back({.ratio = c.period, .inside = true});
        if (c.clock) clocks.push_back({.ratio = *c.clock, .inside = true});
    }
    judgement.below = summary_of(powers);
    judgement.clock = summary_of(clocks);
    judgement.period = summary_of(periods);
    return judgement;
}

}  // namespace ridge::measure
