#include "cli/views/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "answers/diagnose_text.h"
#include "cli/console/rows.h"
#include "cli/views/memory.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using answers::Case;
using answers::Verdict;

constexpr std::size_t explained_rows = 5;

Cell exact_time(Time time) {
    return {.text = format(time), .number = time.in(units::us)};
}

std::vector<Rows::Column> diagnosis_columns(const answers::Report& report) {
    std::vector<Rows::Column> columns{
        {.name = "name"},
        {.name = "operation", .title = {}, .shown = Shown::never},
        {.name = "gpu", .title = {}, .shown = Shown::never},
        {.name = "count", .title = "calls"},
        {.name = "measured_us", .title = "measured"},
        {.name = "of_roof", .title = "of the roof"},
        {.name = "expected_us", .title = "expected"},
        {.name = "band", .title = "80 % band", .shown = Shown::where_room},
        {.name = "expected_low_us", .title = {}, .shown = Shown::never},
        {.name = "expected_high_us", .title = {}, .shown = Shown::never},
        {.name = "evidence"},
        {.name = "verdict", .title = {}, .shown = Shown::where_room},
        {.name = "to_win_us", .title = "to win"}};
    for (const std::string& gpu : report.others) {
        columns.push_back({.name = gpu + "_us", .title = "on " + gpu});
        columns.push_back({.name = gpu + "_speed_up", .title = "gain"});
        columns.push_back(
            {.name = gpu + "_evidence", .title = "evidence on " + gpu, .shown = Shown::where_room});
    }
    return columns;
}

std::vector<Cell> diagnosis_cells(const Case& one, const answers::Report& report, bool counted) {
    const Json json = answers::to_json(one);
    std::vector<Cell> cells{
        {.text = one.row.name},
        {.text = *json.find("operation")->if_text()},
        {.text = one.gpu},
        {.text = counted ? std::to_string(one.row.count) : "",
         .number = counted ? std::optional(static_cast<double>(one.row.count)) : std::nullopt},
        exact_time(one.row.measured)};
    if (one.expected) {
        const auto change = [&](Time time) {
            return fmt::format("{:+.0f} %", 100.0 * (time / *one.expected - 1.0));
        };
        cells.push_back({.text = answers::roof_text(one), .number = one.of_roof});
        cells.push_back(exact_time(*one.expected));
        cells.push_back({.text = change(one.low) + " " + change(one.high)});
        cells.push_back(exact_time(one.low));
        cells.push_back(exact_time(one.high));
        cells.push_back({.text = std::string(name_of(one.evidence))});
    } else {
        cells.resize(cells.size() + 6);
    }
    cells.push_back({.text = std::string(name_of(one.verdict))});
    cells.push_back(one.to_win > Time{} ? exact_time(one.to_win) : Cell{});
    for (std::size_t i = 0; i < report.others.size(); ++i) {
        const auto& there = one.elsewhere.at(i).expected;
        cells.push_back(there ? exact_time(*there) : Cell{});
        const double gain = there ? one.row.measured / *there : 0.0;
        cells.push_back(there ? Cell{.text = format_number(gain, 3) + "x", .number = gain}
                              : Cell{});
        cells.push_back(there ? Cell{.text = std::string(name_of(one.elsewhere.at(i).evidence))}
                              : Cell{});
    }
    return cells;
}

Rows diagnosis_rows(const answers::Report& report, std::size_t most) {
    Rows rows{.columns = diagnosis_columns(report)};
    const bool counted = std::any_of(report.cases.begin(), report.cases.end(),
                                     [](const Case& each) { return each.row.count != 1; });
    for (const Case& one : report.cases) {
        if (most > 0 && rows.rows.size() == most) break;
        rows.rows.push_back(diagnosis_cells(one, report, counted));
    }
    return rows;
}

/// The first rows that have something to say: what is wrong or slow, and then what could change.
std::vector<std::string> explanations_of(const answers::Report& report) {
    std::vector<std::string> texts;
    for (const Case& one : report.cases) {
        if (texts.size() == explained_rows) break;
        if (!one.why.empty()) texts.push_back(text_of(one));
    }
    return texts;
}

const char* roof_note() {
    return "Of the roof: the least time that the hardware allows over the measured one. A row is "
           "slow if it took 15 % longer than the upper end of its band. Evidence: what the "
           "expected time rests on.";
}

}  // namespace

void write_diagnosis(const Context& context, const answers::Report& report, std::size_t most,
                     Format format) {
    if (format == Format::json) {
        context.out << to_json(report).text(2) << '\n';
        return;
    }
    if (format != Format::table) return write_rows(context, diagnosis_rows(report, 0), format);
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(answers::verdict_of(report), width, 2) << "\n\n";
    write_rows(context, diagnosis_rows(report, most), format);
    if (most > 0 && report.cases.size() > most) {
        context.out << fmt::format("... and {} more (--top 0 shows all)\n",
                                   report.cases.size() - most);
    }
    context.out << '\n';
    for (const std::string& text : explanations_of(report)) write_sentence(context, "- " + text);
    context.out << '\n';
    write_sentence(context, roof_note());
}

plot::Report diagnosis_page(const answers::Report& report, const std::string& command) {
    plot::Report page{.title = "Measured times, judged"};
    std::vector<std::string> gpus;
    for (const Case& one : report.cases) {
        if (std::find(gpus.begin(), gpus.end(), one.gpu) == gpus.end()) gpus.push_back(one.gpu);
    }
    page.subtitle = fmt::format("{} rows", report.cases.size());
    for (std::size_t i = 0; i < gpus.size(); ++i)
        page.subtitle += (i == 0 ? " on " : ", ") + gpus[i];
    page.blocks.emplace_back(
        plot::ReportText{.heading = "Verdict", .sentences = {answers::verdict_of(report)}});
    plot::ReportText why{.heading = "Where to start", .sentences = explanations_of(report)};
    if (!why.sentences.empty()) page.blocks.emplace_back(std::move(why));
    const Rows rows = diagnosis_rows(report, 0);
    plot::ReportTable table{.caption = "All rows", .note = roof_note()};
    for (const Rows::Column& column : rows.columns) {
        if (column.shown == Shown::never) continue;
        table.columns.push_back(column.title.empty() ? column.name : column.title);
    }
    for (const auto& row : rows.rows) {
        plot::ReportRow out{.cells = {}, .mark = row.front().text};
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (rows.columns[i].shown == Shown::never) continue;
            out.cells.push_back({.text = row[i].text, .number = row[i].number, .share = {}});
        }
        table.rows.push_back(std::move(out));
    }
    page.blocks.emplace_back(std::move(table));
    page.blocks.emplace_back(
        plot::ReportText{.heading = "How it was made", .sentences = {command}});
    return page;
}

}  // namespace ridge::cli
