#include "cli/views/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "cli/console/json_document.h"
#include "cli/console/percent.h"
#include "cli/console/table.h"
#include "cli/views/energy.h"
#include "cli/views/partial.h"
#include "hardware/json.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using model::Prediction;

const Prediction* prediction_of(const SequenceStep& step) {
    return std::get_if<Prediction>(&step.answer.outcome);
}

Time time_of(const SequenceStep& step) {
    const Prediction* const p = prediction_of(step);
    return p == nullptr ? Time{} : static_cast<double>(step.count) * p->time;
}

bool is_measured(const Sequence& sequence) {
    return std::any_of(sequence.steps().begin(), sequence.steps().end(),
                       [](const SequenceStep& step) { return step.measured.has_value(); });
}

bool is_inside(const SequenceStep& step, const Prediction& p) {
    return step.measured && *step.measured >= p.low && *step.measured <= p.high;
}

std::string label_of(const SequenceStep& step) {
    return step.name.empty() ? text_of(step.answer.kind, step.answer.parameters) : step.name;
}

/// "-6 % +9 %": the ends of the band relative to the prediction.
std::string reach_text(Time low, Time time, Time high) {
    if (time <= Time{}) return {};
    return fmt::format("{:.0f} % {:+.0f} %", 100.0 * ((low - time) / time),
                       100.0 * ((high - time) / time));
}

/// Energy of all steps in turn; empty if one of them has none.
std::optional<model::StepEnergy> energy_of(const std::vector<SequenceStep>& steps, Time wall) {
    model::EnergySum sum;
    for (const SequenceStep& step : steps) {
        const Prediction* const p = prediction_of(step);
        if (p == nullptr || !p->energy) return std::nullopt;
        sum.add(*p, static_cast<double>(step.count));
    }
    if (sum.empty()) return std::nullopt;
    return sum.during(wall);
}

/// The GPU if all steps have the same one; else empty.
std::string gpu_of(const Sequence& sequence) {
    const model::Machine* const first = sequence.steps().front().answer.machine;
    for (const SequenceStep& step : sequence.steps()) {
        if (step.answer.machine == nullptr || step.answer.machine != first) return {};
    }
    return first == nullptr ? std::string() : first->title;
}

/// The columns after the operation.
std::vector<Column> text_columns(bool measured) {
    std::vector<Column> columns{
        {"count", Align::right}, {"time", Align::right}, {"share", Align::right}};
    if (!measured) columns.push_back({"bound"});  // eighty columns hold no more
    columns.insert(columns.end(), {{"limiter"}, {"evidence"}});
    if (measured) {
        columns.push_back({"measured", Align::right});
        columns.push_back({"in band"});
    } else {
        columns.push_back({"80 % band", Align::right});
    }
    return columns;
}

/// The step's part of a sum that is complete; without one there are no shares.
std::string share_text(const SequenceStep& step, const model::WorkloadPrediction& total) {
    if (!total.complete() || total.time <= Time{}) return {};
    return percent(time_of(step) / total.time);
}

std::vector<std::string> text_cells(const SequenceStep& step,
                                    const model::WorkloadPrediction& total, bool measured) {
    const Prediction* const p = prediction_of(step);
    std::vector<std::string> cells{std::to_string(step.count)};
    if (p == nullptr) {
        cells.emplace_back("none");
        cells.resize(7);
        return cells;
    }
    cells.push_back(format(time_of(step)));
    cells.push_back(share_text(step, total));
    if (!measured) cells.emplace_back(name_of(p->bound));
    cells.emplace_back(name_of(p->limiter));
    cells.emplace_back(name_of(p->evidence.grade()));
    if (!measured) {
        cells.push_back(reach_text(p->low, p->time, p->high));
        return cells;
    }
    cells.push_back(step.measured ? format(static_cast<double>(step.count) * *step.measured)
                                  : std::string());
    cells.emplace_back(!step.measured ? "" : is_inside(step, *p) ? "yes" : "no");
    return cells;
}

std::vector<std::string> total_cells(const Sequence& sequence,
                                     const model::WorkloadPrediction& total, bool measured) {
    std::int64_t inside = 0;
    std::int64_t known = 0;
    Time sum{};
    for (const SequenceStep& step : sequence.steps()) {
        const Prediction* const p = prediction_of(step);
        if (p == nullptr || !step.measured) continue;
        ++known;
        inside += is_inside(step, *p) ? 1 : 0;
        sum += static_cast<double>(step.count) * *step.measured;
    }
    const bool whole = total.complete() && total.time > Time{};
    std::vector<std::string> cells{"", total.time > Time{} ? format(total.time) : "none",
                                   whole ? "100 %" : "", ""};
    if (!measured) cells.emplace_back();
    cells.push_back(whole ? std::string(name_of(total.grade)) : std::string());
    if (measured) {
        cells.push_back(format(sum));
        cells.push_back(fmt::format("{} of {}", inside, known));
    } else {
        cells.push_back(whole ? reach_text(total.low, total.time, total.high) : std::string());
    }
    return cells;
}

/// Width that the other columns, two spaces apart, leave for the operation.
std::size_t label_width(const Context& context, const std::vector<Column>& columns,
                        const std::vector<std::vector<std::string>>& rows) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        std::size_t widest = display_width(columns[i].name);
        for (const auto& row : rows) widest = std::max(widest, display_width(row[i]));
        taken += widest + 2;
    }
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    return std::max<std::size_t>(16, width - std::min(width, taken));
}

/// Adds a row whose first cell is wrapped into as many lines as it needs.
void add_wrapped(Table& table, const std::string& label, std::size_t width,
                 std::vector<std::string> cells) {
    std::istringstream lines(wrap(label, width, 2));
    std::string line;
    for (bool first = true; std::getline(lines, line); first = false) {
        std::vector<std::string> row{line};
        if (first) row.insert(row.end(), cells.begin(), cells.end());
        row.resize(cells.size() + 1);
        table.rows.push_back(std::move(row));
    }
}

/// Writes the totals of the whole sequence.
void write_sums(const Context& context, const model::WorkloadPrediction& total,
                const std::optional<model::StepEnergy>& energy) {
    const auto line = [&context](const std::string& label, const std::string& text) {
        constexpr std::size_t indent = 16;
        const auto width = static_cast<std::size_t>(std::max(40, context.width));
        context.out << fmt::format("  {:<12}  {}\n", label, wrap(text, width, indent, indent));
    };
    context.out << '\n';
    if (total.complete()) {
        line("time", fmt::format("{}   (80 % band {} to {})", format(total.time), format(total.low),
                                 format(total.high)));
        line("evidence", fmt::format("{} (the weakest of them)", name_of(total.grade)));
    } else {
        line("time", printable(model::text_of_sum(total.time, total.left_out) + "; " +
                               total.left_out.text()));
        if (total.time <= Time{}) return;
    }
    const std::string least = total.complete() ? "" : "at least ";
    line("work", least + work_text(total.work));
    line("traffic", least + traffic_text(total.work));
    if (energy && total.complete()) {
        line("energy",
             fmt::format("{}   (80 % band {} to {}), {} on average", format(energy->energy),
                         format(energy->low), format(energy->high), format(energy->power)));
    }
    line("footprint", "largest of them " + least + format_capacity(total.largest_footprint));
}

void write_as_text(const Context& context, const Sequence& sequence) {
    const model::WorkloadPrediction total = sequence.total();
    const bool measured = is_measured(sequence);
    const std::vector<Column> columns = text_columns(measured);
    std::vector<std::vector<std::string>> rows;
    for (const SequenceStep& step : sequence.steps()) {
        rows.push_back(text_cells(step, total, measured));
    }
    rows.push_back(total_cells(sequence, total, measured));
    const std::size_t width = label_width(context, columns, rows);
    Table table{.columns = {{"operation"}}, .rows = {}};
    table.columns.insert(table.columns.end(), columns.begin(), columns.end());
    for (std::size_t i = 0; i < sequence.steps().size(); ++i) {
        add_wrapped(table, label_of(sequence.steps()[i]), width, std::move(rows[i]));
    }
    const char* const label = !sequence.whole()   ? "so far"
                              : !total.complete() ? "at least"
                                                  : "total";
    add_wrapped(table, label, width, std::move(rows.back()));
    const std::string gpu = gpu_of(sequence);
    context.out << (sequence.whole() ? "" : "the first ") << sequence.steps().size()
                << " operations in sequence" << (gpu.empty() ? "" : " on ") << gpu << '\n';
    write_text(context.out, table);
    for (const SequenceStep& step : sequence.steps()) {
        const auto* unmodelled = std::get_if<model::NotModelled>(&step.answer.outcome);
        if (unmodelled == nullptr) continue;
        const auto screen = static_cast<std::size_t>(std::max(40, context.width));
        context.out << "  "
                    << wrap(printable(label_of(step) + ": not modelled: " + unmodelled->reason),
                            screen, 4, 2)
                    << '\n';
    }
    if (sequence.whole()) write_sums(context, total, sequence.energy());
}

/// The value with six significant digits, for programs.
std::string figure(double value) {
    return format_number(value, 6);
}

std::vector<std::string> machine_row(const SequenceStep& step,
                                     const model::WorkloadPrediction& total) {
    const Time time = time_of(step);
    std::vector<std::string> row{
        text_of(step.answer.kind, step.answer.parameters),
        step.name,
        step.answer.machine == nullptr ? std::string() : step.answer.machine->name,
        std::to_string(step.count),
        prediction_of(step) == nullptr ? std::string() : figure(time.in(units::us)),
        total.complete() && total.time > Time{} ? figure(time / total.time) : std::string()};
    for (std::string& cell : result_cells(step.answer)) row.push_back(std::move(cell));
    return row;
}

/// The sums of the columns that have one; an empty cell for other columns. Sums that lack an
/// operation are empty, and the last column says what they lack.
std::vector<std::string> machine_total(const model::WorkloadPrediction& total,
                                       const std::optional<model::StepEnergy>& energy) {
    if (!total.complete()) {
        std::vector<std::string> row(6 + result_columns().size());
        row.front() = "total";
        row.back() = total.left_out.text();
        if (total.time > Time{}) {
            row.back() = "at least " + figure(total.time.in(units::us)) + " us; " + row.back();
        }
        return row;
    }
    std::vector<std::string> row{
        "total", "", "", "", figure(total.time.in(units::us)), total.time > Time{} ? "1" : ""};
    for (const std::string& column : result_columns()) {
        std::string cell;
        if (column == "time_us") cell = figure(total.time.in(units::us));
        if (column == "time_low_us") cell = figure(total.low.in(units::us));
        if (column == "time_high_us") cell = figure(total.high.in(units::us));
        if (column == "flop") cell = figure(total.work.flop().base());
        if (column == "compulsory_bytes") cell = figure(total.work.compulsory().base());
        if (column == "dram_bytes") cell = figure(total.work.dram().base());
        if (column == "l2_bytes") cell = figure(total.work.l2.base());
        if (energy && column == "power_w") cell = figure(energy->power.base());
        if (energy && column == "energy_j") cell = figure(energy->energy.base());
        if (energy && column == "energy_low_j") cell = figure(energy->low.base());
        if (energy && column == "energy_high_j") cell = figure(energy->high.base());
        if (column == "evidence") cell = name_of(total.grade);
        row.push_back(std::move(cell));
    }
    return row;
}

Table machine_table(const Sequence& sequence) {
    const model::WorkloadPrediction total = sequence.total();
    Table table{.columns = {{"op"},
                            {"name"},
                            {"gpu"},
                            {"count", Align::right},
                            {"total_us", Align::right},
                            {"share", Align::right}},
                .rows = {}};
    for (const std::string& name : result_columns()) table.columns.push_back({name, Align::right});
    for (const SequenceStep& step : sequence.steps()) {
        table.rows.push_back(machine_row(step, total));
    }
    table.rows.push_back(machine_total(total, sequence.energy()));
    return table;
}

Json json_of(const Sequence& sequence) {
    const model::WorkloadPrediction total = sequence.total();
    Json operations = Json::array();
    for (const SequenceStep& step : sequence.steps()) {
        Json json = to_json(step.answer);
        json["count"] = step.count;
        if (!step.name.empty()) json["name"] = step.name;
        if (total.complete() && total.time > Time{}) {
            json["share"] = time_of(step).in(total.time);
        }
        operations.push_back(std::move(json));
    }
    Json sums = Json::object();
    const auto add = [&](const char* name, double value) {
        sums[name] = total.complete() ? Json(value) : Json();
    };
    add("time_us", total.time.in(units::us));
    add("time_low_us", total.low.in(units::us));
    add("time_high_us", total.high.in(units::us));
    add("flop", total.work.flop().base());
    add("compulsory_bytes", total.work.compulsory().base());
    add("dram_bytes", total.work.dram().base());
    add("l2_bytes", total.work.l2.base());
    if (const auto energy = sequence.energy(); energy && total.complete()) {
        const Json values = cli::json_of(*energy);
        for (const auto& [name, value] : values.members()) sums[name] = value;
    }
    sums["evidence"] = total.complete() ? Json(name_of(total.grade)) : Json();
    sums["kernels"] = total.complete() ? Json(total.work.kernels) : Json();
    add("largest_footprint_bytes", total.largest_footprint.base());
    add_left_out(sums, total.time, total.left_out);
    return {{"operations", std::move(operations)}, {"total", std::move(sums)}};
}

}  // namespace

model::WorkloadPrediction Sequence::total() const {
    std::vector<model::Outcome> parts;
    std::vector<std::int64_t> counts;
    for (const SequenceStep& step : steps_) {
        parts.push_back(step.answer.outcome);
        counts.push_back(step.count);
    }
    return model::add_up(std::move(parts), counts);
}

std::optional<model::StepEnergy> Sequence::energy() const {
    const model::WorkloadPrediction sum = total();
    if (!sum.complete()) return std::nullopt;
    return energy_of(steps_, sum.time);
}

void write_sequence(const Context& context, const Sequence& sequence, Format format) {
    switch (format) {
        case Format::json:
            write_document(context.out, "sequence", json_of(sequence));
            return;
        case Format::csv:
            write_csv(context.out, machine_table(sequence));
            return;
        case Format::markdown:
            write_markdown(context.out, machine_table(sequence));
            return;
        case Format::table:
            if (!sequence.steps().empty()) write_as_text(context, sequence);
            return;
    }
}

}  // namespace ridge::cli
