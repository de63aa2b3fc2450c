#include "programs/report/trace_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "hardware/units.h"
#include "programs/report/changes.h"
#include "programs/report/replayed_savings.h"
#include "programs/report/savings.h"

namespace ridge::programs {
namespace {

constexpr std::array<std::string_view, 11> saving_names{
    "idle",   "fusion",    "slower", "copies",  "overlap", "precision",
    "layout", "attention", "batch",  "loading", "padding"};

/// Computes shares and errors over the rows, weighted by their measured time.
void sum_up(TraceReport& report) {
    Time total;
    Time attributed;
    Time modelled;
    Time error;
    Time memory;
    for (const OperatorRow& row : report.operators) {
        total += row.measured;
        // Copies of the driver and communication identify themselves.
        if (row.launched || row.driver || row.family == OperatorFamily::communication) {
            attributed += row.measured;
        }
        if (!row.predicted) {
            report.left_out.add(row.reason, row.count);
            continue;
        }
        modelled += row.measured;
        report.predicted += *row.predicted;
        error += row.measured > *row.predicted ? row.measured - *row.predicted
                                               : *row.predicted - row.measured;
        if (row.bound == "memory") memory += row.measured;
    }
    if (total > Time{}) report.attributed_share = attributed / total;
    if (total > Time{}) report.modelled_share = modelled / total;
    if (modelled > Time{}) report.weighted_error = error / modelled;
    if (modelled > Time{}) report.memory_bound_share = memory / modelled;
}

/// FLOP of products and attention over the span of the trace, and the time that they take at their
/// peaks.
void add_utilisation(TraceReport& report) {
    double flop = 0.0;
    double seconds_at_peak = 0.0;
    for (const OperatorRow& row : report.operators) {
        if (row.family != OperatorFamily::product && row.family != OperatorFamily::attention)
            continue;
        if (!row.predicted) report.uncounted_products += row.count;
        for (const model::Outcome& part : row.answer.parts) {
            const auto* const p = std::get_if<model::Prediction>(&part);
            if (p == nullptr || p->peak.base() <= 0.0) continue;
            const double each = p->work.flop().base() * static_cast<double>(row.count);
            flop += each;
            seconds_at_peak += each / p->peak.base();
        }
    }
    report.modelled_flop = flop;
    const double span = static_cast<double>(report.timeline.span_ns) * 1e-9;
    if (span <= 0.0) return;
    report.achieved_flop_per_s = flop / span;
    report.utilisation = seconds_at_peak / span;
}

/// Sorts the rows by measured time; `row_of` then maps kernels instead of instances.
void order_rows(TraceReport& report, const Trace& trace, const std::vector<Instance>& instances,
                Rows rows) {
    std::vector<std::int32_t> order(rows.rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&rows](std::int32_t a, std::int32_t b) {
        return rows.rows[static_cast<std::size_t>(a)].measured >
               rows.rows[static_cast<std::size_t>(b)].measured;
    });
    std::vector<std::int32_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto from = static_cast<std::size_t>(order[i]);
        place[from] = static_cast<std::int32_t>(i);
        report.operators.push_back(std::move(rows.rows[from]));
    }
    report.row_of.assign(trace.kernels.size(), none);
    for (std::size_t i = 0; i < instances.size(); ++i) {
        const std::int32_t row = place[static_cast<std::size_t>(rows.row_of[i])];
        for (const std::int32_t kernel : instances[i].kernels) {
            report.row_of[static_cast<std::size_t>(kernel)] = row;
        }
    }
}

/// A measurement on one GPU says nothing about how well another GPU is used.
void compare_no_more(TraceReport& report) {
    for (OperatorRow& row : report.operators) row.slower = row.avoidable = Time{};
    report.savings.clear();
    report.weighted_error = 0.0;
    report.utilisation = 0.0;
}

/// A measurement shorter than its limit contradicts the description of the GPU or the counts.
void note_faster_than_limit(TraceReport& report) {
    if (report.elsewhere) return;
    constexpr double rounding = 1.005;
    std::int64_t rows = 0;
    const OperatorRow* farthest = nullptr;
    for (const OperatorRow& row : report.operators) {
        if (!row.predicted || row.measured * rounding >= row.lower_bound) continue;
        ++rows;
        if (farthest == nullptr ||
            row.lower_bound - row.measured > farthest->lower_bound - farthest->measured) {
            farthest = &row;
        }
    }
    if (farthest == nullptr) return;
    report.notes.push_back(
        std::to_string(rows) + (rows == 1 ? " operator is" : " operators are") +
        " faster than the limit, such as " + farthest->name + " (" + format(farthest->measured) +
        ", limit " + format(farthest->lower_bound) +
        "): the L2 served part of the bytes, or the data let a kernel skip work, or the GPU is "
        "not the described one");
}

void add_host_late(TraceReport& report) {
    for (std::size_t i = 0; i < report.row_of.size(); ++i) {
        if (report.timeline.late_ns[i] == 0) continue;
        report.operators[static_cast<std::size_t>(report.row_of[i])].host_late +=
            time_of(report.timeline.late_ns[i]);
    }
}

void add_ranges(TraceReport& report, const Trace& trace) {
    std::map<TextId, RangeRow> rows;
    for (std::size_t i = 0; i < trace.kernels.size(); ++i) {
        const Kernel& kernel = trace.kernels[i];
        const TextId name = kernel.range == none
                                ? TextId::empty
                                : trace.operators[static_cast<std::size_t>(kernel.range)].name;
        RangeRow& row = rows[name];
        const OperatorRow& op = report.operators[static_cast<std::size_t>(report.row_of[i])];
        const Time measured = time_of(kernel.duration_ns);
        ++row.kernels;
        row.measured += measured;
        if (op.predicted && op.measured > Time{}) {
            row.predicted += *op.predicted * (measured / op.measured);
        }
        if (!op.predicted) row.left_out.add(op.reason);
    }
    if (rows.empty() || (rows.size() == 1 && rows.contains(TextId::empty))) return;
    for (auto& [name, row] : rows) {
        row.name = trace.text(name);
        report.ranges.push_back(std::move(row));
    }
    std::stable_sort(report.ranges.begin(), report.ranges.end(),
                     [](const RangeRow& a, const RangeRow& b) { return a.measured > b.measured; });
}

}  // namespace

TraceReport report_of(const Trace& trace, const model::Machine& machine, Target target) {
    TraceReport report;
    report.file = trace.file;
    report.device = trace.device_name();
    report.machine = machine.name;
    report.recorder = trace.recorder;
    report.elsewhere = target == Target::other;
    report.timeline = timeline_of(trace);
    report.damage = trace.read.damage;
    report.notes = trace.notes;
    report.samples = trace.samples;
    const std::vector<Instance> instances = instances_of(trace);
    Rows rows = rows_of(trace, instances, machine);
    report.savings = savings_of(trace, instances, rows, report.timeline, machine);
    for (Saving& change : changes_of(instances, rows, machine)) {
        report.savings.push_back(std::move(change));
    }
    const TraceReplay replay(trace);
    for (Saving& change : replayed_savings(trace, instances, rows, machine, replay)) {
        report.savings.push_back(std::move(change));
    }
    std::stable_sort(report.savings.begin(), report.savings.end(),
                     [](const Saving& a, const Saving& b) { return a.saves() > b.saves(); });
    find_end_to_end(trace, instances, rows, replay, report.savings);
    order_rows(report, trace, instances, std::move(rows));
    add_host_late(report);
    add_ranges(report, trace);
    sum_up(report);
    add_utilisation(report);
    note_faster_than_limit(report);
    if (report.elsewhere) compare_no_more(report);
    return report;
}

std::string_view name_of(SavingKind kind) {
    return saving_names[static_cast<std::size_t>(kind)];
}

}  // namespace ridge::programs
