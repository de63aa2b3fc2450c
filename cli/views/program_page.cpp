#include "cli/views/program_page.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cli/console/format.h"
#include "cli/console/percent.h"
#include "cli/views/causes.h"
#include "cli/views/counted.h"
#include "cli/views/prediction.h"
#include "cli/views/trace.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using plot::ReportCell;
using programs::OperatorRow;
using programs::time_of;
using programs::TraceReport;

double ratio(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

ReportCell time_cell(Time time) {
    const bool tiny = time > Time{} && time < 1.0 * units::ns;
    return {.text = tiny ? "< 1 ns" : format(time), .number = time.in(units::us), .share = {}};
}
/// A zero gap is an empty cell, so that the others stand out.
ReportCell gap_cell(Time time) {
    return time > Time{} ? time_cell(time) : ReportCell{};
}
ReportCell count_cell(std::int64_t count) {
    return {.text = std::to_string(count), .number = static_cast<double>(count), .share = {}};
}

std::vector<plot::Term> figures_of(const TraceReport& report) {
    const auto& line = report.timeline;
    std::vector<plot::Term> figures{
        {.name = "kernel time", .value = format(time_of(line.kernel_ns))}};
    const auto add = [&figures](const char* name, std::string value) {
        figures.push_back({.name = name, .value = std::move(value)});
    };
    if (report.recorder != programs::TraceSource::nsight_compute) {
        add("from first to last kernel", format(time_of(line.span_ns)));
        add("GPU busy", percent(ratio(line.busy_ns, line.span_ns)));
        add("idle, waiting for the host", format(time_of(line.host_late_ns)));
        add("idle, other", format(time_of(line.idle_ns() - line.host_late_ns)));
    }
    if (line.communication_ns > 0) {
        add("communication", format(time_of(line.communication_ns)));
        add("of it overlapped with kernels",
            percent(ratio(line.communication_hidden_ns, line.communication_ns)));
    }
    add("predicted kernel time", model::text_of_sum(report.predicted, report.left_out));
    // The table of operators says why.
    if (const std::int64_t left_out = report.left_out.operations(); left_out > 0) {
        add("not predicted", std::to_string(left_out) + (left_out > 1 ? " calls" : " call"));
    }
    if (!report.elsewhere) add("mean error by time", percent(report.weighted_error));
    add("memory-bound", percent(report.memory_bound_share));
    if (report.modelled_flop > 0.0 && report.recorder != programs::TraceSource::nsight_compute) {
        const std::string least = report.uncounted_products > 0 ? "at least " : "";
        add("achieved", least + format(FlopRate::from_base(report.achieved_flop_per_s)));
        if (!report.elsewhere) add("of the peak (MFU)", least + percent(report.utilisation));
    }
    add("belongs to an operator", percent(report.attributed_share));
    add("predicted, by time", percent(report.modelled_share));
    return figures;
}

plot::ReportTable operators_of(const TraceReport& report) {
    plot::ReportTable table{
        .caption = "Where the time goes",
        .note =
            "Calls with the same arguments are one row. Limit: the roofline at datasheet rates. "
            "The "
            "gap has three parts: waiting for the host's launches, kernels that are slower "
            "than predicted, and work that a fusion or another layout would avoid.",
        .columns = {"operator", "calls", "measured", "share", "predicted", "limit", "bound",
                    "host late", "slower", "avoidable", "basis"},
        .rows = {}};
    const Time total = time_of(report.timeline.kernel_ns);
    for (const OperatorRow& row : report.operators) {
        const double share = total > Time{} ? row.measured / total : 0.0;
        const std::string name = operator_name(row);
        plot::ReportRow out{.cells = {}, .mark = name};
        out.cells = {{.text = name, .number = {}, .share = {}},
                     count_cell(row.count),
                     time_cell(row.measured),
                     {.text = percent(share), .number = share, .share = share}};
        if (row.predicted) {
            out.cells.insert(out.cells.end(),
                             {time_cell(*row.predicted), time_cell(row.lower_bound),
                              ReportCell{.text = row.bound, .number = {}, .share = {}}});
        } else {
            out.cells.resize(out.cells.size() + 3);
        }
        out.cells.insert(out.cells.end(),
                         {gap_cell(row.host_late), gap_cell(row.slower), gap_cell(row.avoidable)});
        out.cells.push_back({.text = row.predicted ? std::string(name_of(row.basis)) : row.reason,
                             .number = {},
                             .share = {}});
        table.rows.push_back(std::move(out));
    }
    return table;
}

plot::ReportTable ranges_of(const TraceReport& report) {
    plot::ReportTable table{.caption = "Annotations and modules",
                            .note = "Each without its inner ones.",
                            .columns = {"name", "kernels", "measured", "share", "predicted"},
                            .rows = {}};
    const Time total = time_of(report.timeline.kernel_ns);
    for (const programs::RangeRow& row : report.ranges) {
        const double share = total > Time{} ? row.measured / total : 0.0;
        table.rows.push_back(
            {.cells = {{.text = row.name.empty() ? "(none)" : row.name, .number = {}, .share = {}},
                       count_cell(row.kernels),
                       time_cell(row.measured),
                       {.text = percent(share), .number = share, .share = share},
                       row.left_out.empty()
                           ? time_cell(row.predicted)
                           : ReportCell{.text = model::text_of_sum(row.predicted, row.left_out),
                                        .number = row.predicted.in(units::us),
                                        .share = {}}},
             .mark = {}});
    }
    return table;
}

plot::ReportTable counted_of(const TraceReport& report) {
    plot::ReportTable table{
        .caption = "Measured rooflines",
        .note = "Counted bytes and FLOP over the time of the run without counters.",
        .columns = {"kernel"},
        .rows = {}};
    table.columns.insert(table.columns.end(), reached_columns.begin(), reached_columns.end());
    for (const OperatorRow& row : report.operators) {
        if (!row.counters || row.kernels < 1) continue;
        plot::ReportRow out{.cells = {{.text = row.kernel, .number = {}, .share = {}}},
                            .mark = operator_name(row)};
        for (Reached& one : reached(row)) {
            out.cells.push_back({.text = std::move(one.text), .number = one.value, .share = {}});
        }
        table.rows.push_back(std::move(out));
    }
    return table;
}

plot::ReportTable savings_of(const TraceReport& report) {
    plot::ReportTable table{
        .caption = "What could be saved, by prediction",
        .note =
            "Savings may overlap: a copy that a fused kernel saves is also "
            "listed as a copy.",
        .columns = {"what", "kind", "saves", "times", "kernels each", "now", "then"},
        .rows = {}};
    for (const programs::Saving& saving : report.savings) {
        table.rows.push_back(
            {.cells = {{.text = saving_text(saving), .number = {}, .share = {}},
                       {.text = std::string(name_of(saving.kind)), .number = {}, .share = {}},
                       time_cell(saving.saves()),
                       count_cell(saving.count),
                       saving.kernels > 0 ? count_cell(saving.kernels) : ReportCell{},
                       time_cell(saving.now),
                       gap_cell(saving.then)},
             .mark = {}});
    }
    return table;
}

}  // namespace

std::string operator_name(const OperatorRow& row) {
    const std::string name = row.name.starts_with("aten::") ? row.name.substr(6) : row.name;
    return row.shape.empty() ? name : name + " " + row.shape;
}

plot::Report program_page(const TraceReport& report, const KernelChart& chart) {
    const std::string gpu = report.device.empty() ? report.machine : report.device;
    plot::Report page{
        .title = std::filesystem::path(report.file).filename().string() + " on " + gpu,
        .subtitle = fmt::format("recorded by {}, predicted for {}", name_of(report.recorder),
                                report.machine),
        .figures = figures_of(report),
        .blocks = {}};
    if (!report.damage.empty()) {
        page.blocks.emplace_back(plot::ReportText{
            .heading = "The file is damaged",
            .sentences = {report.damage + "; this is what was read before the damage."}});
    }
    if (!report.savings.empty()) page.blocks.emplace_back(savings_of(report));
    constexpr std::size_t most_cards = 12;
    add_cards(page, report, most_cards, chart);
    page.blocks.emplace_back(operators_of(report));
    plot::ReportTable counted = counted_of(report);
    if (!counted.rows.empty()) page.blocks.emplace_back(std::move(counted));
    if (!report.ranges.empty()) page.blocks.emplace_back(ranges_of(report));
    return page;
}

}  // namespace ridge::cli
