#include "cli/views/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>

#include "cli/console/percent.h"
#include "cli/views/causes.h"
#include "cli/views/counted.h"
#include "cli/views/gate.h"
#include "cli/views/memory.h"
#include "cli/views/partial.h"
#include "cli/views/prediction.h"
#include "hardware/number_text.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using programs::OperatorRow;
using programs::Saving;
using programs::TraceReport;

std::string cut(const std::string& text, std::size_t width) {
    std::string clean = printable(text);
    if (display_width(clean) <= width) return clean;
    return clean.substr(0, width > 3 ? width - 3 : 0) + "...";
}

std::string short_name(const OperatorRow& row) {
    return row.name.starts_with("aten::") ? row.name.substr(6) : row.name;
}

using programs::time_of;

double microseconds(Time time) {
    return time.in(units::us);
}

/// Width of the other columns; the operator's name and shape take the rest of the line.
constexpr std::size_t other_columns = 59;
constexpr std::size_t narrowest = 24;

std::string share_of(std::int64_t part, std::int64_t whole) {
    return percent(whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0);
}

std::string utilisation_of(const TraceReport& report) {
    if (report.modelled_flop <= 0.0) return "No product or attention has known shapes.";
    const std::string least = report.uncounted_products > 0 ? "at least " : "";
    return fmt::format(
        "Products and attention do {0}{1} in all, {0}{2} of their peak over the whole span "
        "(MFU){3}.",
        least, format(Flop::from_base(report.modelled_flop)), percent(report.utilisation),
        least.empty() ? ""
                      : fmt::format("; {} calls have no known shapes", report.uncounted_products));
}

/// How busy the GPU was, and what the program's start took.
void write_timeline(const Context& context, const TraceReport& report) {
    const auto& line = report.timeline;
    const Time span = time_of(line.span_ns);
    if (report.recorder == programs::TraceSource::nsight_compute) {
        write_sentence(context, fmt::format("{} of kernels, each run on its own: the file has no "
                                            "timeline.",
                                            format(time_of(line.kernel_ns))));
    } else {
        write_sentence(
            context,
            fmt::format(
                "{} of kernels in {}: the GPU is busy {} of the time and idle for {}, {} of it "
                "waiting for the host's launches.",
                format(time_of(line.kernel_ns)), format(span), share_of(line.busy_ns, line.span_ns),
                format(time_of(line.idle_ns())), format(time_of(line.host_late_ns))));
        if (line.starting_ns > 0) {
            write_sentence(
                context,
                fmt::format(
                    "The program's start, {} with {} kernels before the last long gap, is left "
                    "out of these times.",
                    format(time_of(line.starting_ns)), line.starting_kernels));
        }
    }
}

void write_head(const Context& context, const TraceReport& report) {
    const auto& line = report.timeline;
    const std::string gpu = report.device.empty() ? report.machine : printable(report.device);
    const std::string model = report.device.empty() ? "" : ", predicted for " + report.machine;
    context.out << wrap(fmt::format("{} ({}) on {}{}", printable(report.file),
                                    name_of(report.recorder), gpu, model),
                        static_cast<std::size_t>(std::max(40, context.width)), 2)
                << '\n';
    write_timeline(context, report);
    const std::string known =
        fmt::format("{} of kernel time belongs to an operator, {} is predicted",
                    percent(report.attributed_share), percent(report.modelled_share));
    if (report.elsewhere) {
        const std::string then =
            report.predicted > Time{}
                ? fmt::format("on {} all would take {}", report.machine,
                              model::text_of_sum(report.predicted, report.left_out))
                : "nothing is known for " + report.machine;
        write_sentence(
            context,
            fmt::format("{}: {}{}.", known, then,
                        report.left_out.empty() ? "" : "; " + printable(report.left_out.text())));
    } else {
        const std::string off =
            fmt::format("; there the prediction is off by {} on average, weighted by time",
                        percent(report.weighted_error));
        write_sentence(context, known + (report.modelled_share > 0.0 ? off : "") + ".");
    }
    if (report.modelled_share > 0.0 && !report.elsewhere) {
        write_sentence(context,
                       fmt::format("Memory-bound: {} of that time. {}",
                                   percent(report.memory_bound_share), utilisation_of(report)));
    }
    if (line.communication_ns > 0) {
        write_sentence(context,
                       fmt::format("Communication: {}, {} of it overlapped with other kernels.",
                                   format(time_of(line.communication_ns)),
                                   share_of(line.communication_hidden_ns, line.communication_ns)));
    }
    if (!report.damage.empty()) {
        write_sentence(context, "The file is damaged: " + printable(report.damage) +
                                    "; this is what was read before the damage.");
    }
    for (const std::string& note : report.notes) {
        write_sentence(context, "Note: " + printable(note) + ".");
    }
}

std::string ratio_of(const OperatorRow& row) {
    if (!row.predicted || row.measured <= Time{}) return "";
    return format_number(*row.predicted / row.measured, 2);
}

void write_operators(const Context& context, const TraceReport& report, std::size_t rows) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    const std::size_t room = std::max(narrowest, width - std::min(width, other_columns));
    Table table{.columns = {{"  measured", Align::right},
                            {"predicted", Align::right},
                            {"ratio", Align::right},
                            {"calls", Align::right},
                            {"bound"},
                            {"evidence"},
                            {"operator"}},
                .rows = {}};
    const std::size_t shown =
        rows == 0 ? report.operators.size() : std::min(rows, report.operators.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const OperatorRow& row = report.operators[i];
        table.rows.push_back(
            {"  " + format(row.measured), row.predicted ? format(*row.predicted) : "-",
             ratio_of(row), std::to_string(row.count), row.bound.empty() ? "-" : row.bound,
             row.predicted ? std::string(name_of(row.evidence)) : "-",
             cut(short_name(row) + (row.shape.empty() ? "" : " " + row.shape), room)});
    }
    context.out << "\nOperators, by measured time\n";
    write_text(context.out, table);
    if (shown < report.operators.size()) {
        context.out << "  and " << report.operators.size() - shown << " more (--top 0 shows all)\n";
    }
}

void write_ranges(const Context& context, const TraceReport& report, std::size_t rows) {
    if (report.ranges.empty()) return;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    constexpr std::size_t times = 40;
    Table table{.columns = {{"  measured", Align::right},
                            {"predicted", Align::right},
                            {"kernels", Align::right},
                            {"annotation or module"}},
                .rows = {}};
    const std::size_t shown =
        rows == 0 ? report.ranges.size() : std::min(rows, report.ranges.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const programs::RangeRow& row = report.ranges[i];
        table.rows.push_back({"  " + format(row.measured),
                              model::text_of_sum(row.predicted, row.left_out),
                              std::to_string(row.kernels),
                              cut(row.name.empty() ? "(none)" : row.name,
                                  std::max(narrowest, width - std::min(width, times)))});
    }
    context.out << "\nAnnotations and modules, each without its inner ones\n";
    write_text(context.out, table);
}

void write_savings(const Context& context, const TraceReport& report, std::size_t rows) {
    if (report.savings.empty()) return;
    context.out << "\nWhat could be saved, by prediction (savings may overlap)\n";
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    const std::size_t shown =
        rows == 0 ? report.savings.size() : std::min(rows, report.savings.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const Saving& saving = report.savings[i];
        const std::string text = "  " + format(saving.saves()) + " " + saving_text(saving);
        context.out << wrap(text, width, 6) << '\n';
    }
}

}  // namespace

namespace {

std::string saving_sentence(const Saving& saving) {
    const std::string times = saving.count > 1 ? fmt::format(", {} times", saving.count) : "";
    const std::string what = printable(saving.what);
    switch (saving.kind) {
        case programs::SavingKind::idle:
            return fmt::format(
                "idle: {}{}; a CUDA graph issues them at once, fused operators need "
                "fewer",
                what, times);
        case programs::SavingKind::overlap:
            return fmt::format("overlap: {}", what);
        case programs::SavingKind::copies:
            return fmt::format("copy: {}{}; not needed if the reader takes this layout", what,
                               times);
        case programs::SavingKind::slower:
            return fmt::format("slower than predicted: {}{}: {} instead of {}", what, times,
                               format(saving.now), format(saving.then));
        case programs::SavingKind::precision:
        case programs::SavingKind::layout:
        case programs::SavingKind::attention:
        case programs::SavingKind::batch:
        case programs::SavingKind::loading:
        case programs::SavingKind::padding:
            return fmt::format("{}: {}{}: {} now, {} then", name_of(saving.kind), what, times,
                               format(saving.now), format(saving.then));
        case programs::SavingKind::fusion:
            break;
    }
    return fmt::format("fusion: {}{}: {} now, {} as one", what, times, format(saving.now),
                       format(saving.then));
}

/// What is left of it from the first kernel to the last, where `now` and `then` are times of kernels.
std::string span_text(const Saving& saving) {
    const bool of_kernels = !saving.times.rows.empty() || !saving.times.instances.empty();
    if (!saving.end_to_end || !of_kernels) return {};
    return fmt::format("; {} of the span", format(*saving.end_to_end));
}

}  // namespace

std::string saving_text(const Saving& saving) {
    return saving_sentence(saving) + span_text(saving);
}

void write_report(const Context& context, const TraceReport& report, std::size_t rows) {
    write_head(context, report);
    write_operators(context, report, rows);
    write_counted(context, report, rows);
    write_causes(context, report, rows);
    write_samples(context, report);
    write_ranges(context, report, rows);
    write_savings(context, report, rows);
}

void write_comparison(const Context& context, const TraceReport& before, const TraceReport& after,
                      const answers::GateReport& changes, std::size_t rows) {
    context.out << wrap(printable(before.file) + " against " + printable(after.file),
                        static_cast<std::size_t>(std::max(40, context.width)), 2)
                << '\n';
    write_sentence(
        context,
        fmt::format(
            "Kernel time {} before, {} after; first to last kernel {} before, {} after.",
            format(time_of(before.timeline.kernel_ns)), format(time_of(after.timeline.kernel_ns)),
            format(time_of(before.timeline.span_ns)), format(time_of(after.timeline.span_ns))));
    write_changes(context, changes, rows);
}

Json launch_json(const OperatorRow& row) {
    const auto sizes = [](const std::array<std::int64_t, 3>& of) {
        return Json::array({of[0], of[1], of[2]});
    };
    return {{"grid", sizes(row.grid)},
            {"block", sizes(row.block)},
            {"registers", row.registers},
            {"shared_bytes", row.shared_bytes}};
}

Json counts_json(const programs::Counts& counts) {
    Json json = Json::object();
    for (std::size_t i = 0; i < programs::count_count; ++i) {
        const auto which = static_cast<programs::Count>(i);
        if (counts[which] > 0.0) json[std::string(name_of(which))] = counts[which];
    }
    return json;
}

Json parts_json(const std::vector<programs::KernelPart>& parts) {
    Json json = Json::array();
    for (const programs::KernelPart& part : parts) {
        json.push_back({{"law", part.law},
                        {"measured_us", microseconds(part.measured)},
                        {"counts", counts_json(part.counts)}});
    }
    return json;
}

Json to_json(const OperatorRow& row, std::int64_t kernel_ns) {
    Json item{{"name", row.name},
              {"shape", row.shape},
              {"family", name_of(row.family)},
              {"count", row.count},
              {"kernels", row.kernels},
              {"kernel", row.kernel},
              {"measured_us", microseconds(row.measured)},
              {"share", kernel_ns > 0 ? row.measured / time_of(kernel_ns) : 0.0},
              {"host_late_us", microseconds(row.host_late)},
              {"slower_us", microseconds(row.slower)},
              {"avoidable_us", microseconds(row.avoidable)}};
    if (row.counters) item["counters"] = to_json(*row.counters);
    if (row.causes) item["causes"] = to_json(*row.causes);
    if (row.counters) item["launch"] = launch_json(row);
    if (row.predicted) {
        item["predicted_us"] = microseconds(*row.predicted);
        item["low_us"] = microseconds(row.low);
        item["high_us"] = microseconds(row.high);
        item["lower_bound_us"] = microseconds(row.lower_bound);
        item["bound"] = row.bound;
        item["limiter"] = row.limiter;
        item["evidence"] = name_of(row.evidence);
        item["basis"] = name_of(row.basis);
    } else {
        item["not_modelled"] = row.reason;
    }
    if (row.counts[programs::Count::elements] > 0.0) {
        item["counts"] = counts_json(row.counts);
        item["law"] = row.law;
        item["template"] = programs::kernel_key(row.kernel);
        item["rule_us"] = microseconds(row.rule);
        if (!row.parts.empty()) item["parts"] = parts_json(row.parts);
    }
    return item;
}

Json to_json(const std::vector<Saving>& list) {
    Json savings = Json::array();
    for (const Saving& saving : list) {
        Json one{{"kind", name_of(saving.kind)},
                 {"what", saving.what},
                 {"count", saving.count},
                 {"kernels", saving.kernels},
                 {"now_us", microseconds(saving.now)},
                 {"then_us", microseconds(saving.then)},
                 {"proven", saving.proven},
                 {"saves_us", microseconds(saving.saves())}};
        if (saving.end_to_end) one["end_to_end_us"] = microseconds(*saving.end_to_end);
        savings.push_back(one);
    }
    return savings;
}

/// The weakest evidence of what is predicted, and the share of each in the predicted time.
Json evidence_of(const TraceReport& report) {
    std::map<model::Grade, Time> by_grade;
    Time whole{};
    for (const OperatorRow& row : report.operators) {
        if (!row.predicted) continue;
        by_grade[row.evidence] += *row.predicted;
        whole += *row.predicted;
    }
    if (whole <= Time{}) return {};
    Json shares = Json::object();
    for (const auto& [grade, time] : by_grade) shares[name_of(grade)] = Json(time / whole);
    return {{"grade", name_of(by_grade.begin()->first)}, {"shares", std::move(shares)}};
}

Json to_json(const TraceReport& report) {
    const auto& line = report.timeline;
    Json json{{"file", report.file},
              {"recorder", name_of(report.recorder)},
              {"device", report.device},
              {"gpu", report.machine},
              {"kernel_time_us", static_cast<double>(line.kernel_ns) / 1e3},
              {"span_us", static_cast<double>(line.span_ns) / 1e3},
              {"busy_us", static_cast<double>(line.busy_ns) / 1e3},
              {"starting_us", static_cast<double>(line.starting_ns) / 1e3},
              {"idle_us", static_cast<double>(line.idle_ns()) / 1e3},
              {"host_late_us", static_cast<double>(line.host_late_ns) / 1e3},
              {"communication_us", static_cast<double>(line.communication_ns) / 1e3},
              {"communication_hidden_us", static_cast<double>(line.communication_hidden_ns) / 1e3},
              {"attributed_share", report.attributed_share},
              {"modelled_share", report.modelled_share},
              {"predicted_us", sum_in_us(report.predicted, report.left_out)},
              {"evidence", evidence_of(report)},
              {"memory_bound_share", report.memory_bound_share}};
    const bool counted = report.uncounted_products == 0;
    json["achieved_flop_per_s"] = counted ? Json(report.achieved_flop_per_s) : Json();
    if (!report.elsewhere) {
        json["weighted_error"] = report.weighted_error;
        json["model_flop_utilisation"] = counted ? Json(report.utilisation) : Json();
    }
    add_left_out(json, report.predicted, report.left_out);
    if (!report.damage.empty()) json["damage"] = report.damage;
    if (!report.notes.empty()) {
        json["notes"] = Json::array();
        for (const std::string& note : report.notes) json["notes"].push_back(note);
    }
    if (!report.samples.empty()) json["samples"] = to_json(report.samples);
    json["operators"] = Json::array();
    for (const OperatorRow& row : report.operators) {
        json["operators"].push_back(to_json(row, report.timeline.kernel_ns));
    }
    json["savings"] = to_json(report.savings);
    Json ranges = Json::array();
    for (const programs::RangeRow& row : report.ranges) {
        ranges.push_back({{"name", row.name},
                          {"kernels", row.kernels},
                          {"measured_us", microseconds(row.measured)},
                          {"predicted_us", sum_in_us(row.predicted, row.left_out)},
                          {"not_modelled", row.left_out.operations()}});
    }
    json["ranges"] = std::move(ranges);
    return json;
}

Table operator_table(const TraceReport& report, bool exact) {
    Table table{.columns = {{"name"},
                            {"shape"},
                            {"family"},
                            {"count", Align::right},
                            {"kernels", Align::right},
                            {"measured_us", Align::right},
                            {"predicted_us", Align::right},
                            {"lower_bound_us", Align::right},
                            {"low_us", Align::right},
                            {"high_us", Align::right},
                            {"bound"},
                            {"limiter"},
                            {"evidence"},
                            {"basis"},
                            {"host_late_us", Align::right},
                            {"slower_us", Align::right},
                            {"avoidable_us", Align::right},
                            {"not_modelled"}},
                .rows = {}};
    const auto number = [exact](Time time) {
        std::string text;
        if (!exact) return format_number(microseconds(time), 4);
        append_shortest(text, microseconds(time));
        return text;
    };
    for (const OperatorRow& row : report.operators) {
        const bool known = row.predicted.has_value();
        table.rows.push_back({row.name, row.shape, std::string(name_of(row.family)),
                              std::to_string(row.count), std::to_string(row.kernels),
                              number(row.measured), known ? number(*row.predicted) : "",
                              known ? number(row.lower_bound) : "", known ? number(row.low) : "",
                              known ? number(row.high) : "", row.bound, row.limiter,
                              known ? std::string(name_of(row.evidence)) : "",
                              known ? std::string(name_of(row.basis)) : "", number(row.host_late),
                              number(row.slower), number(row.avoidable), row.reason});
    }
    return table;
}

}  // namespace ridge::cli
