#include "cli/views/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "answers/plan_text.h"
#include "cli/console/rows.h"
#include "cli/views/memory.h"
#include "cli/views/report_rows.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using answers::Plan;
using answers::PlanRow;
using answers::Purpose;

Cell number_cell(double value, int digits) {
    return {.text = format_number(value, digits), .number = value};
}
Cell time_cell_of(Time time) {
    return {.text = format(time), .number = time.in(units::us)};
}
Cell bytes_cell(std::int64_t bytes) {
    return {.text = bytes == 0 ? "" : format_capacity(bytes_of(bytes)),
            .number = static_cast<double>(bytes)};
}
Cell flag_cell(bool value) {
    return {.text = value ? "yes" : "no", .number = value ? 1.0 : 0.0};
}

/// "-5 % +4 %"
Cell band_cell(const answers::Spread& spread) {
    const double time = spread.time.base();
    return {.text = fmt::format("{:+.0f} % {:+.0f} %", 100.0 * (spread.low.base() / time - 1.0),
                                100.0 * (spread.high.base() / time - 1.0))};
}

std::vector<Cell> speed_cells(const PlanRow& row, bool serves) {
    if (!row.pace) return std::vector<Cell>(serves ? 9 : 8);
    std::vector<Cell> cells{
        {.text = std::to_string(row.batch), .number = static_cast<double>(row.batch)},
        number_cell(row.tokens_per_s, 3),
        number_cell(row.per_gpu(), 3),
        time_cell_of(row.pace->time),
        band_cell(*row.pace),
        {.text = {}, .number = row.pace->low.in(units::us)},
        {.text = {}, .number = row.pace->high.in(units::us)},
        {.text = std::string(name_of(row.pace->evidence))}};
    if (serves) cells.push_back(row.first_token ? time_cell_of(row.first_token->time) : Cell{});
    return cells;
}

/// "tp 2, dp 4", or why there is no speed.
std::string layout_text(const PlanRow& row) {
    if (!row.fits) return row.reason.empty() ? "does not fit" : row.reason;
    if (!row.pace) return "fits; time not modelled";
    std::string text = text_of(row.layout);
    constexpr std::string_view word = "checkpoints";
    const std::size_t at = text.find(word);
    return at == std::string::npos ? text : text.replace(at, word.size(), "ckpt");
}

/// How fast each row is, with its layout.
Rows speed_rows(const Plan& plan) {
    const bool serves = plan.question.purpose == Purpose::serve;
    const bool priced = std::any_of(plan.rows.begin(), plan.rows.end(), [](const PlanRow& row) {
        return row.price_per_hour.has_value();
    });
    Rows rows{.columns = {
                  {.name = "gpus", .title = "GPUs"},
                  {.name = "fits", .title = {}, .shown = Shown::never},
                  {.name = "quantise", .title = {}, .shown = Shown::never},
                  {.name = "layout"},
                  {.name = "batch"},
                  {.name = "tokens_per_s", .title = "tokens/s, all"},
                  {.name = "tokens_per_s_per_gpu", .title = "per GPU", .shown = Shown::where_room},
                  {.name = "time_us", .title = serves ? "per token" : "step"},
                  {.name = "band", .title = "80 % band"},
                  {.name = "time_low_us", .title = {}, .shown = Shown::never},
                  {.name = "time_high_us", .title = {}, .shown = Shown::never},
                  {.name = "evidence"}}};
    if (serves) {
        rows.columns.push_back(
            {.name = "first_token_us", .title = "first token", .shown = Shown::where_room});
    }
    if (priced) {
        const bool asked = std::all_of(plan.rows.begin(), plan.rows.end(),
                                       [](const PlanRow& row) { return row.price_source.empty(); });
        const Shown shown = asked ? Shown::always : Shown::where_room;
        rows.columns.push_back({.name = "price_per_hour", .title = "per hour", .shown = shown});
        rows.columns.push_back(
            {.name = "price_per_million_tokens", .title = "per million", .shown = shown});
    }
    for (const PlanRow& row : plan.rows) {
        std::vector<Cell> cells{
            {.text = name_of(row)},
            flag_cell(row.fits),
            {.text = serves ? std::string(programs::name_of(row.quantisation)) : ""},
            {.text = layout_text(row)}};
        for (Cell& cell : speed_cells(row, serves)) cells.push_back(std::move(cell));
        if (priced) {
            cells.push_back(row.price_per_hour ? number_cell(*row.price_per_hour, 3) : Cell{});
            const auto million = row.per_million();
            cells.push_back(million ? number_cell(*million, 3) : Cell{});
        }
        rows.rows.push_back(std::move(cells));
    }
    return rows;
}

/// What each GPU holds.
Rows memory_rows(const Plan& plan) {
    Rows rows{.columns = {{.name = "gpus", .title = "each GPU holds"},
                          {.name = "weights_bytes", .title = "weights"},
                          {.name = "cache_bytes", .title = "cache"},
                          {.name = "gradients_bytes", .title = "gradients"},
                          {.name = "optimizer_bytes", .title = "optimizer"},
                          {.name = "activations_bytes", .title = "activations"},
                          {.name = "reserve_bytes", .title = "reserve", .shown = Shown::where_room},
                          {.name = "total_bytes", .title = "total"},
                          {.name = "usable_bytes", .title = "of usable"}}};
    for (const PlanRow& row : plan.rows) {
        const answers::MemoryNeed& need = row.memory;
        if (need.total() == 0) continue;
        std::vector<Cell> cells{{.text = name_of(row)}};
        for (const std::int64_t bytes :
             {need.weights, need.cache, need.gradients, need.optimizer, need.activations,
              need.reserve, need.total(), row.usable}) {
            cells.push_back(bytes_cell(bytes));
        }
        rows.rows.push_back(std::move(cells));
    }
    // Columns that are zero everywhere are no part of this purpose.
    for (std::size_t i = rows.columns.size(); i-- > 1;) {
        const bool zero = std::all_of(rows.rows.begin(), rows.rows.end(),
                                      [i](const auto& row) { return row[i].number == 0.0; });
        if (!zero) continue;
        rows.columns.erase(rows.columns.begin() + static_cast<std::ptrdiff_t>(i));
        for (auto& row : rows.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return rows;
}

/// Both tables as one, for programs.
Rows joined(Rows left, const Rows& right) {
    const std::size_t old = left.columns.size();
    left.columns.insert(left.columns.end(), right.columns.begin() + 1, right.columns.end());
    for (auto& row : left.rows) {
        const auto same = std::find_if(right.rows.begin(), right.rows.end(), [&](const auto& each) {
            return each.front().text == row.front().text;
        });
        if (same == right.rows.end()) {
            row.resize(old + right.columns.size() - 1);
        } else {
            row.insert(row.end(), same->begin() + 1, same->end());
        }
    }
    return left;
}

std::string title_of(const Plan& plan) {
    const auto billions = [](std::int64_t count) {
        return format_number(static_cast<double>(count) / 1e9, 3);
    };
    std::string text =
        fmt::format("{} ({} billion parameters", plan.model, billions(plan.parameters));
    if (plan.active_parameters != plan.parameters) {
        text += fmt::format(", {} active", billions(plan.active_parameters));
    }
    return text + ")";
}

/// "at most 50 ms per token"
std::string targets_of(const Plan& plan) {
    const programs::Targets& targets = plan.question.targets;
    std::string text;
    if (targets.ttft) text += "at most " + format(*targets.ttft) + " to the first token";
    if (targets.tpot) {
        text += (text.empty() ? "" : ", ") + ("at most " + format(*targets.tpot)) + " per token";
        if (*targets.tpot == answers::usual_token_time()) text += " (the usual target: --tpot)";
    }
    return text;
}

std::string heading_of_changes(const Plan& plan) {
    return "To make it fit on " + name_of(plan.rows[*plan.changed]) + ":";
}

void write_texts(const Context& context, const Plan& plan) {
    if (plan.changed) {
        context.out << '\n';
        if (plan.changes.empty()) {
            write_sentence(context, "No change that was tried makes it fit on " +
                                        name_of(plan.rows[*plan.changed]) + ".");
        } else {
            write_sentence(context, heading_of_changes(plan));
        }
        for (const answers::Change& change : plan.changes) {
            write_sentence(context, "- " + text_of(change, plan.question.purpose));
        }
    }
    context.out << '\n';
    const std::string evidence = answers::evidence_of(plan);
    if (!evidence.empty()) write_sentence(context, evidence);
    for (const std::string& remark : answers::remarks_on(plan)) write_sentence(context, remark);
}

}  // namespace

std::string name_of(const PlanRow& row) {
    return fmt::format("{} x {}{}{}", row.gpus, row.gpu, row.variant.empty() ? "" : ", ",
                       row.variant);
}

void write_plan(const Context& context, const Plan& plan, Format format) {
    const Rows speed = speed_rows(plan);
    const Rows memory = memory_rows(plan);
    switch (format) {
        case Format::json:
            context.out << to_json(plan).text(2) << '\n';
            return;
        case Format::csv:
        case Format::markdown:
            return write_rows(context, joined(speed, memory), format);
        case Format::table:
            break;
    }
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(title_of(plan) + " " + answers::question_of(plan), width, 2) << '\n';
    const std::string targets = targets_of(plan);
    if (!targets.empty()) context.out << wrap(targets, width, 2) << '\n';
    context.out << '\n' << wrap(answers::verdict_of(plan), width, 2) << "\n\n";
    write_rows(context, speed, Format::table);
    context.out << '\n';
    write_rows(context, memory, Format::table);
    write_texts(context, plan);
}

plot::Report plan_page(const Plan& plan, const std::string& command) {
    plot::Report page{.title = title_of(plan), .subtitle = answers::question_of(plan)};
    std::vector<std::string> verdict{answers::verdict_of(plan)};
    const std::string targets = targets_of(plan);
    if (!targets.empty()) verdict.push_back("Asked for " + targets + ".");
    page.blocks.emplace_back(
        plot::ReportText{.heading = "Verdict", .sentences = std::move(verdict)});
    if (plan.changed && !plan.changes.empty()) {
        plot::ReportText text{.heading = heading_of_changes(plan)};
        for (const answers::Change& change : plan.changes) {
            text.sentences.push_back(text_of(change, plan.question.purpose) + ".");
        }
        page.blocks.emplace_back(std::move(text));
    }
    page.blocks.emplace_back(
        report_table(speed_rows(plan), "How fast, in the best layout",
                     "The best of " + std::to_string(plan.layouts) + " layouts and batches."));
    page.blocks.emplace_back(report_table(memory_rows(plan), "Memory of each GPU", ""));
    plot::ReportText remarks{.heading = "What the numbers assume",
                             .sentences = answers::remarks_on(plan)};
    const std::string evidence = answers::evidence_of(plan);
    if (!evidence.empty()) remarks.sentences.insert(remarks.sentences.begin(), evidence);
    remarks.sentences.push_back("Made by: " + command);
    page.blocks.emplace_back(std::move(remarks));
    return page;
}

}  // namespace ridge::cli
