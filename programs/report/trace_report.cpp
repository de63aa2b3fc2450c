#include "programs/report/trace_report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "programs/report/savings.h"

namespace ridge::programs {
namespace {

constexpr std::array<std::string_view, 4> saving_names{"idle", "fusion", "slower", "copies"};

/// Shares and errors over the rows, weighted by their measured time.
void sum_up(TraceReport& report) {
    Time total;
    Time attributed;
    Time modelled;
    Time error;
    Time memory;
    for (const OperatorRow& row : report.operators) {
        total += row.measured;
        if (row.name.find("::") != std::string::npos || row.family != OperatorFamily::other ||
            row.predicted) {
            attributed += row.measured;
        }
        if (!row.predicted) continue;
        modelled += row.measured;
        error += row.measured > *row.predicted ? row.measured - *row.predicted
                                               : *row.predicted - row.measured;
        if (row.bound == "memory") memory += row.measured;
    }
    if (total > Time{}) report.attributed_share = attributed / total;
    if (total > Time{}) report.modelled_share = modelled / total;
    if (modelled > Time{}) report.weighted_error = error / modelled;
    if (modelled > Time{}) report.memory_bound_share = memory / modelled;
}

/// FLOP of products and attention over the span of the trace, and how long their peaks would take.
void add_utilisation(TraceReport& report, const model::Machine& machine) {
    double flop = 0.0;
    double seconds_at_peak = 0.0;
    for (const OperatorRow& row : report.operators) {
        if (row.family != OperatorFamily::product && row.family != OperatorFamily::attention)
            continue;
        for (const model::Step& step : row.steps) {
            const model::Outcome outcome = model::predict(step.operation, step.execution, machine);
            const auto* const p = std::get_if<model::Prediction>(&outcome);
            if (p == nullptr || p->peak.base() <= 0.0) continue;
            const double each = p->work.flop().base() * static_cast<double>(row.count);
            flop += each;
            seconds_at_peak += each / p->peak.base();
        }
    }
    const double span = static_cast<double>(report.timeline.span_ns) * 1e-9;
    if (span <= 0.0) return;
    report.achieved_flop_per_s = flop / span;
    report.utilisation = seconds_at_peak / span;
}

}  // namespace

TraceReport report_of(const Trace& trace, const model::Machine& machine) {
    TraceReport report{.file = trace.file,
                       .device = trace.device_name(),
                       .machine = machine.name,
                       .timeline = timeline_of(trace),
                       .operators = {},
                       .savings = {},
                       .damage = trace.read.damage};
    const std::vector<Instance> instances = instances_of(trace);
    Rows rows = rows_of(trace, instances, machine);
    report.savings = savings_of(instances, rows, report.timeline, machine);
    report.operators = std::move(rows.rows);
    std::stable_sort(
        report.operators.begin(), report.operators.end(),
        [](const OperatorRow& a, const OperatorRow& b) { return a.measured > b.measured; });
    sum_up(report);
    add_utilisation(report, machine);
    return report;
}

std::string_view name_of(SavingKind kind) {
    return saving_names[static_cast<std::size_t>(kind)];
}

}  // namespace ridge::programs
