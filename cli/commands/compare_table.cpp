// `ridge compare --from`: a table of shapes on several GPUs, with the totals.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "answers/times_table.h"
#include "cli/commands/compare.h"
#include "cli/console/rows.h"
#include "cli/input/times.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

/// One row of the table: the time of all its calls on each GPU; empty if it is not modelled.
struct TableLine {
    std::string name;
    std::int64_t count = 1;
    std::vector<std::optional<Time>> times;
};

Cell time_or_none(const std::optional<Time>& time) {
    return time ? Cell{.text = format(*time), .number = time->in(units::us)} : Cell{.text = "none"};
}

std::vector<TableLine> lines_of(const std::vector<answers::TimedOperation>& rows,
                                const std::vector<std::string>& gpus, Machines& machines) {
    std::vector<TableLine> lines;
    for (const answers::TimedOperation& row : rows) {
        TableLine line{.name = row.name, .count = row.count, .times = {}};
        for (const std::string& gpu : gpus) {
            const model::WorkloadPrediction all = predict(row.steps, machines.at(gpu));
            line.times.push_back(!all.left_out.empty()
                                     ? std::nullopt
                                     : std::optional(static_cast<double>(row.count) * all.time));
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

/// The sum over all rows; empty if one of them is not modelled.
std::vector<std::optional<Time>> totals_of(const std::vector<TableLine>& lines, std::size_t gpus) {
    std::vector<std::optional<Time>> totals(gpus, Time{});
    for (const TableLine& line : lines) {
        for (std::size_t i = 0; i < gpus; ++i) {
            if (!line.times[i]) totals[i].reset();
            if (totals[i]) *totals[i] += *line.times[i];
        }
    }
    return totals;
}

Rows rows_of(const std::vector<TableLine>& lines, const std::vector<std::string>& gpus) {
    Rows rows{.columns = {{.name = "name"}, {.name = "count", .title = "calls"}}};
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        rows.columns.push_back({.name = gpus[i] + "_us", .title = gpus[i]});
        if (i > 0) rows.columns.push_back({.name = gpus[i] + "_speed_up", .title = "vs first"});
    }
    const auto add = [&](const std::string& name, std::optional<std::int64_t> count,
                         const std::vector<std::optional<Time>>& times) {
        std::vector<Cell> cells{{.text = name}};
        cells.push_back(
            count ? Cell{.text = std::to_string(*count), .number = static_cast<double>(*count)}
                  : Cell{});
        for (std::size_t i = 0; i < times.size(); ++i) {
            cells.push_back(time_or_none(times[i]));
            if (i == 0) continue;
            const bool both = times[i] && times[0];
            const double factor = both ? times[0]->in(*times[i]) : 0.0;
            cells.push_back(both ? Cell{.text = format_number(factor, 3) + "x", .number = factor}
                                 : Cell{});
        }
        rows.rows.push_back(std::move(cells));
    };
    for (const TableLine& line : lines) add(line.name, line.count, line.times);
    add("total", std::nullopt, totals_of(lines, gpus.size()));
    return rows;
}

}  // namespace

int compare_table(const Context& context, const GpuOptions& gpu, const OperationArgument& operation,
                  const std::string& file, const std::string& format) {
    if (operation.given()) {
        throw InputError("from: with --from, the table names the operations");
    }
    if (format == "chart") throw InputError("format: --from has no chart");
    Machines machines = gpu.machines(context);
    std::vector<std::string> gpus;
    for (const std::string& name : gpu.names()) gpus.push_back(machines.at(name).name);
    const Times table =
        read_all_times(context, {file}, machines, {.usual_gpu = gpus.front(), .timed = false});
    const std::vector<TableLine> lines = lines_of(table.rows, gpus, machines);
    write_rows(context, rows_of(lines, gpus), parse_format(format_in_pipe(context, format)));
    const bool all = std::all_of(lines.begin(), lines.end(), [](const TableLine& line) {
        return std::all_of(line.times.begin(), line.times.end(),
                           [](const auto& time) { return time.has_value(); });
    });
    if (!all) context.err << "ridge: rows that are not modelled have no total\n";
    return all && !table.damaged ? success : bad_data;
}

}  // namespace ridge::cli
