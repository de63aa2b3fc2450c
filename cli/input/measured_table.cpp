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

Time time_of(std::string_view cell) {
    const double microseconds = parse_number(cell, "measured_us");
    if (microseconds <= 0.0) {
        throw InputError("measured_us: '" + std::string(cell) + "' is not above zero");
    }
    return microseconds * units::us;
}

measure::Record record_of(const ShapeColumns& columns, const std::vector<std::string_view>& cells) {
    columns.require_whole(cells);
    const std::string_view gpu = columns.cell(cells, ColumnRole::gpu);
    if (gpu.empty()) throw InputError("gpu is missing");
    const auto kind = model::parse_operation_kind(columns.cell(cells, ColumnRole::operation));
    const model::Parameters parameters = columns.parameters(kind, cells, {});
    measure::Record record;
    record.question = {.operation = model::make_operation(kind, parameters),
                       .execution = model::make_execution(parameters)};
    record.device.name = gpu;
    const std::array times{time_of(columns.cell(cells, ColumnRole::measured)).base()};
    record.timing = measure::Timing{.statistics = measure::summarise(times)};
    return record;
}

}  // namespace

bool is_measured_table(const std::string& path) {
    return path.ends_with(".csv");
}

measure::RecordFile read_measured_table(const std::string& path,
                                        const measure::OtherColumns& keep) {
    const auto file = open_input(path);
    CsvReader reader(*file, path);
    measure::OtherColumns others = keep;
    others.names.insert(others.names.end(), result_columns().begin(), result_columns().end());
    const ShapeColumns columns(reader, others);
    columns.require_kept(keep);
    columns.require(ColumnRole::operation, "op",
                    "a measured table names the operation of each row");
    columns.require(ColumnRole::gpu, "gpu", "a measured table names the GPU of each row");
    columns.require(ColumnRole::measured, "measured_us", "the time in microseconds");
    measure::RecordFile table;
    while (reader.next()) {
        try {
            if (!reader.problem().empty()) throw InputError(reader.problem());
            table.records.push_back(record_of(columns, reader.cells()));
        } catch (const InputError& broken) {
            table.damaged.push_back(
                {.location = {path, reader.line(), 0}, .message = broken.what()});
        }
    }
    return table;
}

}  // namespace ridge::cli
