#include "measure/fit/rows.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "hardware/error.h"
#include "measure/record/record.h"

namespace ridge::measure {
namespace {

std::vector<std::string> split_line(std::string_view line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char letter : line) {
        if (letter == '"') {
            quoted = !quoted;
        } else if (letter == ',' && !quoted) {
            cells.emplace_back();
        } else if (letter != '\r') {
            cells.back() += letter;
        }
    }
    return cells;
}

class Header {
  public:
    Header(const std::string& line, const std::string& file) : names_(split_line(line)) {
        for (const std::string_view name : {"gpu", "op", "measured_us"}) {
            if (!position(name)) {
                throw InputError("no column '" + std::string(name) + "'", {file, 1, 1});
            }
        }
    }

    [[nodiscard]] std::optional<std::size_t> position(std::string_view name) const {
        const auto found = std::find(names_.begin(), names_.end(), name);
        if (found == names_.end()) return std::nullopt;
        return static_cast<std::size_t>(found - names_.begin());
    }
    [[nodiscard]] std::string cell(const std::vector<std::string>& cells,
                                   std::string_view name) const {
        const auto at = position(name);
        return at ? cells[*at] : std::string();
    }
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  private:
    std::vector<std::string> names_;
};

Time parse_time(const std::string& text) {
    double value = 0.0;
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || last != end || !(value > 0.0)) {
        throw InputError("measured_us: '" + text + "' is not a positive number");
    }
    return value * units::us;
}

/// The message size of a table that counts elements, in bytes.
void count_bytes(model::Operation& operation, std::string_view source) {
    auto* const collective = std::get_if<model::Collective>(&operation);
    if (collective == nullptr || !source.starts_with("aiconfigurator")) return;
    collective->bytes *= model::size_of(collective->type);
    model::validate(operation);
}

MeasuredRow read_row(const Header& header, const std::vector<std::string>& cells) {
    if (cells.size() != header.names().size()) {
        throw InputError("the row has " + std::to_string(cells.size()) + " cells, the header " +
                         std::to_string(header.names().size()));
    }
    MeasuredRow row;
    row.gpu = header.cell(cells, "gpu");
    row.kind = model::parse_operation_kind(header.cell(cells, "op"));
    row.measured = parse_time(header.cell(cells, "measured_us"));
    model::Parameters parameters;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto field = model::find_field(header.names()[i]);
        if (!field || cells[i].empty() || !model::applies(row.kind, *field)) continue;
        parameters.set(*field, cells[i]);
    }
    row.operation = model::make_operation(row.kind, parameters);
    row.execution = model::make_execution(parameters);
    count_bytes(row.operation, header.cell(cells, "source"));
    return row;
}

}  // namespace

std::vector<MeasuredRow> read_rows(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::string line;
    if (!stream || !std::getline(stream, line)) {
        throw InputError("cannot read the table", {path, 0, 0});
    }
    const Header header(line, path);
    std::vector<MeasuredRow> rows;
    for (std::int64_t number = 2; std::getline(stream, line); ++number) {
        if (line.empty() || line == "\r") continue;
        try {
            rows.push_back(read_row(header, split_line(line)));
        } catch (const InputError& broken) {
            throw InputError(broken.message(), {path, static_cast<int>(number), 1}, broken.hint());
        }
        rows.back().file = path;
        rows.back().line = number;
    }
    return rows;
}

std::vector<MeasuredRow> read_record_rows(const std::vector<std::string>& paths,
                                          const GpuNames& gpu_name) {
    std::vector<MeasuredRow> rows;
    std::int64_t number = 0;
    for (const Record& record : read_all_records(paths).records) {
        ++number;
        if (!record.measured()) continue;
        MeasuredRow row;
        row.gpu = gpu_name(record.device.name);
        row.operation = record.question.operation;
        row.kind = model::parse_operation_kind(name_of(row.operation));
        row.execution = record.question.execution;
        row.measured = record.time();
        row.seed = record.question.seed;
        row.file = paths.front();
        row.line = number;
        rows.push_back(std::move(row));
    }
    if (rows.empty()) throw InputError("no measured records", {paths.front(), 0, 0});
    return rows;
}

std::vector<MeasuredRow> read_folder(const std::string& folder,
                                     const std::vector<std::string>& prefixes) {
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
        std::vector<MeasuredRow> more = read_rows(path);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

}  // namespace ridge::measure
