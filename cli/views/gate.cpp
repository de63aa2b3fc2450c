#include "cli/views/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "cli/console/json_document.h"
#include "cli/console/rows.h"
#include "cli/console/table.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using answers::GateReport;
using answers::ItemChange;
using answers::Trend;

constexpr std::size_t explained = 5;
constexpr std::size_t whole = std::string::npos;  ///< a name of any length

std::string percent_of(const ItemChange& one) {
    if (one.trend == Trend::added || one.trend == Trend::removed) return {};
    return fmt::format("{:+.1f} %", 100.0 * (one.ratio - 1.0));
}

Cell changed_time(Time time) {
    return time > Time{} ? Cell{.text = format(time), .number = time.in(units::us)}
                         : Cell{.text = "-"};
}

std::vector<Cell> cells_of(const ItemChange& one) {
    const Time grown = one.grown();
    const bool more = grown >= Time{};
    return {{.text = one.name},
            {.text = std::string(name_of(one.trend))},
            changed_time(one.before),
            changed_time(one.now),
            {.text = (more ? "+" : "-") + format(more ? grown : one.before - one.now),
             .number = grown.in(units::us)},
            {.text = percent_of(one),
             .number = percent_of(one).empty() ? std::nullopt : std::optional(one.ratio)},
            {.text = one.error > 0.0 ? fmt::format("{:.2g} %", 100.0 * one.error) : "",
             .number = one.error > 0.0 ? std::optional(one.error) : std::nullopt},
            {.text = one.why}};
}

/// The end of an operator's name is its last shapes.
std::string cut_to(const std::string& name, std::size_t most) {
    return name.size() <= most ? name : name.substr(0, most - 3) + "...";
}

/// Names as long as the rest of the table leaves room for.
std::size_t room_for_names(const Context& context) {
    constexpr std::size_t others = 52;
    constexpr std::size_t least = 24;
    const auto width = static_cast<std::size_t>(std::max(0, context.width));
    return std::max(least, width - std::min(width, others));
}

Rows gate_rows(const GateReport& report, std::size_t rows, std::size_t longest_name) {
    Rows table{.columns = {{.name = "name"},
                           {.name = "change"},
                           {.name = "before_us", .title = "before"},
                           {.name = "now_us", .title = "now"},
                           {.name = "grown_us", .title = "grown"},
                           {.name = "ratio", .title = "a call"},
                           {.name = "error", .title = "error", .shown = Shown::where_room},
                           {.name = "why", .title = {}, .shown = Shown::never}}};
    const std::size_t shown =
        rows == 0 ? report.changes.size() : std::min(rows, report.changes.size());
    for (std::size_t i = 0; i < shown; ++i) {
        table.rows.push_back(cells_of(report.changes[i]));
        std::string& name = table.rows.back().front().text;
        name = cut_to(name, longest_name);
    }
    return table;
}

void write_line(const Context& context, std::string_view text) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(printable(text), width, 2) << '\n';
}

void write_reasons(const Context& context, const GateReport& report) {
    std::size_t said = 0;
    for (const ItemChange& one : report.changes) {
        if (one.why.empty() || one.trend == Trend::same || said == explained) continue;
        if (said++ == 0) context.out << '\n';
        write_line(context, "- " + one.name + ": " + one.why);
    }
    for (const std::string& note : report.notes) write_line(context, note);
}

}  // namespace

void write_changes(const Context& context, const GateReport& report, std::size_t rows) {
    context.out << '\n';
    write_rows(context, gate_rows(report, rows, room_for_names(context)), Format::table);
    write_reasons(context, report);
}

void write_gate(const Context& context, const GateReport& report, std::size_t rows, Format format) {
    switch (format) {
        case Format::json:
            write_document(context.out, "check", to_json(report));
            return;
        case Format::csv:
            write_rows(context, gate_rows(report, 0, whole), Format::csv);
            return;
        case Format::markdown:
            context.out << "**" << printable(answers::verdict_of(report)) << "**\n\n";
            write_rows(context, gate_rows(report, rows, whole), Format::markdown);
            context.out << '\n';
            for (const std::string& note : report.notes) context.out << "- " << note << '\n';
            return;
        case Format::table:
            write_line(context, answers::verdict_of(report));
            write_changes(context, report, rows);
    }
}

Json to_json(const GateReport& report) {
    Json counts = Json::object();
    for (std::size_t i = 0; i < answers::trend_count; ++i) {
        counts[std::string(name_of(static_cast<Trend>(i)))] = report.counts.at(i);
    }
    Json notes = Json::array();
    for (const std::string& note : report.notes) notes.push_back(note);
    return {{"verdict", name_of(report.verdict)},
            {"sentence", answers::verdict_of(report)},
            {"budget", report.options.budget},
            {"counts", counts},
            {"before_us", report.total.before.in(units::us)},
            {"now_us", report.total.now.in(units::us)},
            {"ratio", report.total.ratio},
            {"runs_before", report.runs_before},
            {"runs_now", report.runs_now},
            {"changes", to_json(gate_rows(report, 0, whole))},
            {"notes", notes}};
}

}  // namespace ridge::cli
