#include "measure/fit/rows.h"

#include <algorithm>
#include <filesystem>

#include "hardware/error.h"
#include "hardware/input_file.h"
#include "hardware/number_text.h"
#include "measure/record/record.h"

namespace ridge::measure {
namespace {

Time parse_time(std::string_view text, Time unit) {
    const auto value = whole_real(text);
    if (!value || !(*value > 0.0)) {
        throw InputError("measured: '" + std::string(text) + "' is not a positive number");
    }
    return *value * unit;
}

/// Converts the message size of a table that counts elements to bytes.
void count_bytes(model::Operation& operation, std::string_view source) {
    auto* const collective = std::get_if<model::Collective>(&operation);
    if (collective == nullptr || !source.starts_with("aiconfigurator")) return;
    collective->bytes *= model::size_of(collective->type);
    model::validate(operation);
}

MeasuredRow read_row(const ShapeColumns& columns, const CsvReader& reader) {
    if (!reader.problem().empty()) throw InputError(reader.problem());
    const std::vector<std::string_view>& cells = reader.cells();
    columns.require_whole(cells);
    MeasuredRow row;
    row.gpu = columns.cell(cells, ColumnRole::gpu);
    row.kind = model::parse_operation_kind(columns.cell(cells, ColumnRole::operation));
    row.measured = parse_time(columns.cell(cells, ColumnRole::measured), columns.measured_unit());
    const model::Parameters parameters = columns.parameters(row.kind, cells, {});
    row.operation = model::make_operation(row.kind, parameters);
    row.execution = model::make_execution(parameters);
    count_bytes(row.operation, columns.cell(cells, "source"));
    row.file = reader.file();
    row.line = reader.line();
    return row;
}

/// Whether the time covers several kernels, so that it determines none of them.
bool is_compiled_product(const Question& question) {
    return std::holds_alternative<model::Matmul>(question.operation) &&
           question.execution.implementation == model::Implementation::compiled;
}

}  // namespace

std::vector<MeasuredRow> read_rows(const std::string& path, const OtherColumns& keep,
                                   const std::string& gpu) {
    const auto stream = open_input(path);
    CsvReader reader(*stream, path);
    const ShapeColumns columns(reader, keep);
    if (gpu.empty()) columns.require(ColumnRole::gpu, "gpu", {});
    columns.require(ColumnRole::operation, "op", {});
    columns.require(ColumnRole::measured, "measured_us", {});
    std::vector<MeasuredRow> rows;
    while (reader.next()) {
        try {
            rows.push_back(read_row(columns, reader));
            if (rows.back().gpu.empty()) rows.back().gpu = gpu;
        } catch (const InputError& broken) {
            throw InputError(broken.message(), {path, static_cast<int>(reader.line()), 1},
                             broken.hint());
        }
    }
    return rows;
}

std::vector<MeasuredRow> read_record_rows(const std::vector<std::string>& paths,
                                          const GpuNames& gpu_name) {
    std::vector<MeasuredRow> rows;
    for (const Record& record : read_all_records(paths).records) {
        if (!record.measured() || is_compiled_product(record.question)) continue;
        MeasuredRow row;
        row.gpu = gpu_name(record.device.name);
        row.operation = record.question.operation;
        row.kind = model::parse_operation_kind(name_of(row.operation));
        row.execution = record.question.execution;
        row.measured = record.time();
        row.seed = record.question.seed;
        row.file = record.location.file;
        row.line = record.location.line;
        rows.push_back(std::move(row));
    }
    if (rows.empty()) throw InputError("no measured records to fit to", {paths.front(), 0, 0});
    return rows;
}

std::vector<MeasuredRow> read_tables(const std::string& path,
                                     const std::vector<std::string>& prefixes,
                                     const OtherColumns& keep, const std::string& gpu) {
    if (std::filesystem::is_directory(path)) return read_folder(path, prefixes, keep, gpu);
    return rows_named(read_rows(path, keep, gpu), prefixes);
}

std::vector<MeasuredRow> rows_named(std::vector<MeasuredRow> rows,
                                    const std::vector<std::string>& prefixes) {
    if (prefixes.empty()) return rows;
    std::erase_if(rows, [&prefixes](const MeasuredRow& row) {
        const std::string_view name = std::holds_alternative<model::Collective>(row.operation)
                                          ? "collectives"
                                          : model::name_of(row.operation);
        return std::none_of(prefixes.begin(), prefixes.end(),
                            [name](const std::string& prefix) { return prefix.starts_with(name); });
    });
    return rows;
}

std::vector<MeasuredRow> read_folder(const std::string& folder,
                                     const std::vector<std::string>& prefixes,
                                     const OtherColumns& keep, const std::string& gpu) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        const bool wanted =
            std::any_of(prefixes.begin(), prefixes.end(),
                        [&](const std::string& prefix) { return name.starts_with(prefix); });
        if (wanted && entry.path().extension() == ".csv") paths.push_back(entry.path().string());
    }
    if (error) throw InputError("cannot list the folder: " + error.message(), {folder, 0, 0});
    if (paths.empty()) {
        throw InputError("no table named " + prefixes.front() + "*.csv", {folder, 0, 0});
    }
    std::sort(paths.begin(), paths.end());
    std::vector<MeasuredRow> rows;
    for (const std::string& path : paths) {
        std::vector<MeasuredRow> more = read_rows(path, keep, gpu);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

}  // namespace ridge::measure
