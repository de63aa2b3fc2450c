#include "answers/times_table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "hardware/nearest.h"
#include "hardware/units.h"
#include "measure/record/csv_reader.h"
#include "measure/record/shape_columns.h"

namespace ridge::answers {
namespace {

using measure::ColumnRole;
using measure::CsvReader;
using measure::ShapeColumns;

/// The separator that the first line has most of; a comma if it has none.
char separator_of(std::string_view text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    char best = ',';
    for (const char each : {'\t', ';'}) {
        if (std::count(line.begin(), line.end(), each) >
            std::count(line.begin(), line.end(), best)) {
            best = each;
        }
    }
    return best;
}

/// The columns that say nothing to ridge. InputError if one is nearly a field of the model.
std::vector<std::string> unused_of(const ShapeColumns& columns, const std::string& file) {
    constexpr std::array<std::string_view, 7> known{"op",    "operation", "gpu",   "name",
                                                    "count", "calls",     "kernel"};
    std::vector<std::string> fields;
    for (const model::FieldInfo& info : model::field_table()) fields.emplace_back(info.name);
    std::vector<std::string> unused;
    for (const std::string& name : columns.names()) {
        const auto same = [&name](std::string_view other) { return same_word(name, other); };
        if (std::any_of(known.begin(), known.end(), same) ||
            std::any_of(fields.begin(), fields.end(), same) || measure::unit_of_time_column(name)) {
            continue;
        }
        for (const std::string& field : fields) {
            if (field.size() < 4 || edit_distance(field, name) > 1) continue;
            throw InputError("column '" + name + "' is not known", {file, 1, 1},
                             "did you mean '" + field + "'?");
        }
        unused.push_back(name);
    }
    return unused;
}

Time measured_of(const ShapeColumns& columns, const std::vector<std::string_view>& cells) {
    const std::string_view cell = columns.cell(cells, ColumnRole::measured);
    const double value = parse_number(cell, "time");
    if (value <= 0.0) {
        throw InputError("time: '" + std::string(cell) + "' is not above zero");
    }
    return value * columns.measured_unit();
}

TimedOperation row_of_table(const ShapeColumns& columns, const std::vector<std::string_view>& cells,
                            const TimesOptions& options) {
    columns.require_whole(cells);
    TimedOperation row;
    row.gpu = columns.cell(cells, ColumnRole::gpu);
    if (row.gpu.empty()) row.gpu = options.usual_gpu;
    if (row.gpu.empty()) throw InputError("gpu is missing", {}, "fill the cell or give --gpu NAME");
    const std::string_view text = columns.cell(cells, ColumnRole::operation);
    const model::OperationText words = model::parse_operation(text);
    const model::Parameters parameters = columns.parameters(words.kind, cells, words.parameters);
    row.steps.push_back({.operation = model::make_operation(words.kind, parameters),
                         .execution = model::make_execution(parameters)});
    if (options.timed) row.measured = measured_of(columns, cells);
    const std::string_view count = columns.cell(cells, ColumnRole::count);
    if (!count.empty()) row.count = model::parse_repetitions(count);
    for (const std::string_view column : {"name", "kernel"}) {
        if (row.name.empty()) row.name = columns.cell(cells, column);
    }
    if (row.name.empty()) row.name = measure::canonical_text(row.steps.front().operation);
    return row;
}

}  // namespace

TimesTable read_times(std::istream& stream, const std::string& file, const TimesOptions& options) {
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::istringstream again(text);
    CsvReader reader(again, file, separator_of(text));
    const ShapeColumns columns(
        reader, {.names = {}, .all = true, .unit = options.timed ? options.unit : units::us});
    columns.require(ColumnRole::operation, "op", "the operation of each row: matmul, softmax, ...");
    if (options.timed) {
        columns.require(
            ColumnRole::measured, "time_us",
            "the time of one call; time_ms, us, ms, measured_us and the like work, too");
    }
    if (options.usual_gpu.empty()) {
        columns.require(ColumnRole::gpu, "gpu", "add it, or give --gpu NAME");
    }
    TimesTable table{.unused = unused_of(columns, file)};
    while (reader.next()) {
        try {
            if (!reader.problem().empty()) throw InputError(reader.problem());
            table.rows.push_back(row_of_table(columns, reader.cells(), options));
        } catch (const InputError& broken) {
            table.damaged.push_back(
                {.location = {file, reader.line(), 0}, .message = broken.what()});
        }
    }
    if (table.rows.empty() && table.damaged.empty()) {
        throw InputError("the table has no rows", {file, 1, 0});
    }
    return table;
}

std::vector<TimedOperation> times_of(std::span<const measure::Record> records) {
    std::vector<TimedOperation> rows;
    for (const measure::Record& record : records) {
        if (!record.measured()) continue;
        const bool named = record.row && !record.row->name.empty();
        rows.push_back(
            {.name = named ? record.row->name : measure::canonical_text(record.question.operation),
             .steps = {{.operation = record.question.operation,
                        .execution = record.question.execution}},
             .gpu = record.device.name,
             .measured = record.time()});
    }
    return rows;
}

}  // namespace ridge::answers
