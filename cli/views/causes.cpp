#include "cli/views/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "cli/console/format.h"
#include "cli/console/percent.h"
#include "cli/console/table.h"
#include "hardware/units.h"
#include "kernel/causes/kernel_name.h"

namespace ridge::cli {
namespace {

using kernel::Part;
using kernel::Split;
using programs::OperatorRow;

Time seconds(double value) {
    return Time::from_base(value);
}

constexpr double most_of = 0.5;

/// What the largest cause costs over all launches, s.
double to_win(const OperatorRow& row) {
    const double largest = row.causes->parts.empty() ? 0.0 : row.causes->parts.front().saves;
    return largest * static_cast<double>(row.kernels);
}

std::vector<const OperatorRow*> by_time_to_win(const programs::TraceReport& report) {
    std::vector<const OperatorRow*> rows;
    for (const OperatorRow& row : report.operators) {
        if (row.causes && row.kernels > 0) rows.push_back(&row);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const OperatorRow* a, const OperatorRow* b) {
        return to_win(*a) > to_win(*b);
    });
    return rows;
}

std::string head_of(const OperatorRow& row) {
    const Split& split = *row.causes;
    const std::string ideal =
        split.ideal > 0.0
            ? fmt::format("{} at {}", format(seconds(split.ideal)), name_of(split.roof))
            : std::string("not known");
    return fmt::format(
        "{}, {} of {}: ideal {}{}", printable(kernel::short_kernel_name(row.kernel)),
        row.kernels == 1 ? std::string("one launch") : std::to_string(row.kernels) + " launches",
        format(seconds(split.measured)), ideal,
        split.bound.empty() ? "" : ", " + split.bound + "-bound");
}

/// "Warps wait at matmul.cu:42 (63 % of all waits, mostly for memory), ..."
std::string waits_of(const Split& split) {
    std::string text = "Warps wait at ";
    constexpr std::size_t most = 3;
    for (std::size_t i = 0; i < std::min(most, split.lines.size()); ++i) {
        const kernel::LineStalls& line = split.lines[i];
        text += fmt::format("{}{} ({}{}, {} for {})", i == 0 ? "" : ", ", printable(line.place),
                            percent(line.share), i == 0 ? " of all waits" : "",
                            line.of_it > most_of ? "mostly" : "first", line.reason);
    }
    return text + '.';
}

std::vector<std::string> text_of(const Split& split) {
    std::vector<std::string> sentences = sentences_of(split);
    constexpr double some = 0.05;
    if (split.unexplained >= some * split.measured) {
        sentences.push_back(fmt::format("Unexplained: {} ({}).", format(seconds(split.unexplained)),
                                        percent(split.unexplained / split.measured)));
    }
    if (sentences.empty()) sentences.emplace_back("Nothing costs more than 5 % of its time.");
    if (!split.lines.empty()) sentences.push_back(waits_of(split));
    return sentences;
}

plot::ReportCell cell(std::string text) {
    return {.text = std::move(text), .number = {}, .share = {}};
}

plot::ReportRow row_of(std::string name, double part, double whole, std::string what) {
    return {
        .cells = {cell(std::move(name)),
                  {.text = format(seconds(part)),
                   .number = seconds(part).in(units::us),
                   .share = {}},
                  {.text = percent(part / whole), .number = part / whole, .share = part / whole},
                  cell(std::move(what))},
        .mark = {}};
}

/// Ideal, parts and unexplained: the steps of the waterfall, as bars of the measured time.
plot::ReportTable waterfall(const OperatorRow& row) {
    const Split& split = *row.causes;
    plot::ReportTable table{.caption = "From the ideal to the measured time",
                            .note = printable(row.kernel),
                            .columns = {"part", "time", "share", "without it"},
                            .rows = {}};
    table.rows.push_back(
        row_of("ideal: " + std::string(name_of(split.roof)), split.ideal, split.measured, ""));
    constexpr double visible = 0.01;
    for (const Part& part : split.parts) {
        if (part.seconds < visible * split.measured) continue;
        const std::string detail = part.detail.empty() ? "" : " (" + part.detail + ")";
        table.rows.push_back(row_of(std::string(name_of(part.cause)) + detail, part.seconds,
                                    split.measured, format(seconds(split.measured - part.saves))));
    }
    if (split.unexplained > 0.0) {
        table.rows.push_back(row_of("unexplained", split.unexplained, split.measured, ""));
    }
    return table;
}

/// How busy each resource was while the kernel ran.
plot::ReportTable pipes(const Split& split) {
    plot::ReportTable table{.caption = "How busy each resource is",
                            .note = "Its work at full rate over the measured time.",
                            .columns = {"resource", "time", "share", ""},
                            .rows = {}};
    constexpr double visible = 0.005;
    for (const kernel::Load& load : split.loads.all) {
        if (load.seconds < visible * split.measured) continue;
        const double shown = std::min(load.seconds, split.measured);
        table.rows.push_back(
            row_of(std::string(name_of(load.resource)), shown, split.measured, ""));
    }
    return table;
}

/// Where warps wait, by source line.
plot::ReportTable waiting_lines(const Split& split) {
    plot::ReportTable table{.caption = "Where its warps wait",
                            .note =
                                "Samples of all launches. A warp that waits for a value stands "
                                "at the line that needs it.",
                            .columns = {"line", "share of the waits", "first reason"},
                            .rows = {}};
    for (const kernel::LineStalls& line : split.lines) {
        table.rows.push_back(
            {.cells = {cell(printable(line.place)),
                       {.text = percent(line.share), .number = line.share, .share = line.share},
                       cell(fmt::format("{} ({})", line.reason, percent(line.of_it)))},
             .mark = {}});
    }
    return table;
}

}  // namespace

void write_causes(const Context& context, const programs::TraceReport& report, std::size_t rows) {
    const std::vector<const OperatorRow*> sorted = by_time_to_win(report);
    if (sorted.empty()) return;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    const std::size_t shown = rows == 0 ? sorted.size() : std::min(rows, sorted.size());
    context.out << "\nWhy the kernels take longer than their ideal, by time to win\n";
    for (std::size_t i = 0; i < shown; ++i) {
        context.out << "  " << wrap(head_of(*sorted[i]), width, 4, 2) << '\n';
        for (const std::string& sentence : text_of(*sorted[i]->causes)) {
            context.out << "    " << wrap(sentence, width, 6, 4) << '\n';
        }
    }
}

Json to_json(const Split& split) {
    Json parts = Json::array();
    for (const Part& part : split.parts) {
        Json item{{"cause", key_of(part.cause)},
                  {"time_us", seconds(part.seconds).in(units::us)},
                  {"saves_us", seconds(part.saves).in(units::us)}};
        if (!part.detail.empty()) item["detail"] = part.detail;
        if (!part.where.empty()) item["where"] = part.where;
        parts.push_back(std::move(item));
    }
    Json loads = Json::array();
    for (const kernel::Load& load : split.loads.all) {
        loads.push_back({{"resource", name_of(load.resource)},
                         {"busy_us", seconds(load.seconds).in(units::us)},
                         {"needed_us", seconds(load.needed).in(units::us)}});
    }
    Json lines = Json::array();
    for (const kernel::LineStalls& line : split.lines) {
        lines.push_back({{"place", line.place},
                         {"file", line.file},
                         {"share", line.share},
                         {"reason", line.reason},
                         {"reason_share", line.of_it}});
    }
    return {{"measured_us", seconds(split.measured).in(units::us)},
            {"lines", std::move(lines)},
            {"ideal_us", seconds(split.ideal).in(units::us)},
            {"roof", name_of(split.roof)},
            {"bound", split.bound},
            {"parts", std::move(parts)},
            {"unexplained_us", seconds(split.unexplained).in(units::us)},
            {"resources", std::move(loads)}};
}

void add_cards(plot::Report& page, const programs::TraceReport& report, std::size_t most,
               const KernelChart& chart) {
    const std::vector<const OperatorRow*> sorted = by_time_to_win(report);
    for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) {
        page.blocks.emplace_back(plot::ReportText{.heading = head_of(*sorted[i]),
                                                  .sentences = text_of(*sorted[i]->causes)});
        if (auto roofline = chart ? chart(*sorted[i]) : std::nullopt) {
            page.blocks.emplace_back(*std::move(roofline));
        }
        page.blocks.emplace_back(waterfall(*sorted[i]));
        page.blocks.emplace_back(pipes(*sorted[i]->causes));
        if (!sorted[i]->causes->lines.empty()) {
            page.blocks.emplace_back(waiting_lines(*sorted[i]->causes));
        }
    }
}

}  // namespace ridge::cli
