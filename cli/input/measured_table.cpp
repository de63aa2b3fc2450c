#include "cli/input/measured_table.h"

#include <array>

#include "cli/console/result_columns.h"
#include "hardware/error.h"
#include "hardware/input_file.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using measure::ColumnRole;
using measure::CsvReader;
using measure::ShapeColumns;

Time time_of(std::string_view cell, Time unit) {
    const double time = parse_number(cell, "measured");
    if (time <= 0.0) {
        throw InputError("measured: '" + std::string(cell) + "' is not above zero");
    }
    return time * unit;
}

bool is_implementation(std::string_view word) {
    try {
        static_cast<void>(model::parse_implementation(word));
        return true;
    } catch (const InputError&) {
        return false;
    }
}

/// Removes an implementation that the model does not know from the row and returns it.
std::string take_unknown_implementation(const ShapeColumns& columns,
                                        std::vector<std::string_view>& cells) {
    const std::string_view word = columns.cell(cells, "impl");
    if (word.empty() || is_implementation(word)) return {};
    for (std::string_view& cell : cells) {
        if (cell.data() == word.data()) cell = {};
    }
    return std::string(word);
}

measure::Record record_of(const ShapeColumns& columns, std::vector<std::string_view> cells,
                          const std::string& usual_gpu) {
    columns.require_whole(cells);
    std::string_view gpu = columns.cell(cells, ColumnRole::gpu);
    if (gpu.empty()) gpu = usual_gpu;
    if (gpu.empty()) throw InputError("gpu is missing", {}, "fill the cell or give --gpu NAME");
    const auto kind = model::parse_operation_kind(columns.cell(cells, ColumnRole::operation));
    measure::Record record;
    record.row =
        measure::TableRow{.name = std::string(columns.cell(cells, "name")),
                          .unknown_implementation = take_unknown_implementation(columns, cells),
                          .location = {},
                          .unit = columns.measured_unit()};
    const model::Parameters parameters = columns.parameters(kind, cells, {});
    record.question = {.operation = model::make_operation(kind, parameters),
                       .execution = model::make_execution(parameters)};
    record.device.name = gpu;
    const std::array times{
        time_of(columns.cell(cells, ColumnRole::measured), columns.measured_unit()).base()};
    record.timing = measure::Timing{.statistics = measure::summarise(times)};
    return record;
}

}  // namespace

bool is_measured_table(const std::string& path) {
    return path.ends_with(".csv");
}

measure::RecordFile read_measured_table(const std::string& path, const std::string& usual_gpu,
                                        const measure::OtherColumns& keep) {
    const auto file = open_input(path);
    CsvReader reader(*file, path);
    measure::OtherColumns others = keep;
    others.names.insert(others.names.end(), result_columns().begin(), result_columns().end());
    const ShapeColumns columns(reader, others);
    columns.require_kept(keep);
    columns.require(ColumnRole::operation, "op",
                    "a measured table names the operation of each row");
    if (usual_gpu.empty()) {
        columns.require(ColumnRole::gpu, "gpu", "add it, or give --gpu NAME");
    }
    columns.require(ColumnRole::measured, "measured_us",
                    "the time in microseconds; measured_ms, latency_us and the like work too; "
                    "time_us is what `ridge predict` writes");
    measure::RecordFile table;
    while (reader.next()) {
        try {
            if (!reader.problem().empty()) throw InputError(reader.problem());
            table.records.push_back(record_of(columns, reader.cells(), usual_gpu));
            table.records.back().row->location = {path, reader.line(), 0};
        } catch (const InputError& broken) {
            table.damaged.push_back(
                {.location = {path, reader.line(), 0}, .message = broken.what()});
        }
    }
    return table;
}

}  // namespace ridge::cli
