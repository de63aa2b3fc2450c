#include "cli/batch.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <unordered_map>
#include <vector>

#include "cli/csv_reader.h"
#include "cli/prediction_views.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "hardware/error.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

using model::Field;

struct Column {
    enum class Role { operation, gpu, field, other };
    Role role = Role::other;
    Field field = Field::dtype;
    std::string name;
};

std::vector<Column> read_header(CsvReader& reader, const BatchOptions& options) {
    if (!reader.next()) throw InputError("the file is empty", {reader.file(), 1, 1});
    std::vector<Column> columns;
    std::set<std::string, std::less<>> seen;
    bool has_operation = options.operation.has_value();
    bool has_gpu = !options.gpu.empty();
    for (const std::string_view name : reader.cells()) {
        Column column;
        column.name = name;
        if (!seen.insert(column.name).second) {
            throw InputError("column '" + column.name + "' stands twice", {reader.file(), 1, 1});
        }
        if (name == "op") {
            column.role = Column::Role::operation;
            has_operation = true;
        } else if (name == "gpu") {
            column.role = Column::Role::gpu;
            has_gpu = true;
        } else if (const auto field = model::find_field(name)) {
            column.role = Column::Role::field;
            column.field = *field;
        }
        columns.push_back(std::move(column));
    }
    if (!has_operation) {
        throw InputError("no column 'op'", {reader.file(), 1, 1},
                         "add it, or name the operation: ridge predict matmul --from ...");
    }
    if (!has_gpu) {
        throw InputError("no column 'gpu'", {reader.file(), 1, 1}, "add it, or give --gpu NAME");
    }
    return columns;
}

/// Turns the cells of a row into an answer. Remembers the last names it looked up, since
/// neighbouring rows mostly share them.
class RowPredictor {
  public:
    RowPredictor(Machines& machines, const BatchOptions& options, std::vector<Column> columns)
        : machines_(machines), options_(options), columns_(std::move(columns)) {}

    [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }

    /// Fills `answer`; throws InputError when the row cannot be understood.
    void predict(const std::vector<std::string_view>& cells, Answer& answer) {
        if (cells.size() != columns_.size()) {
            throw InputError("the row has " + std::to_string(cells.size()) + " cells, the header " +
                             std::to_string(columns_.size()));
        }
        answer.machine = &machine_of(cells);
        answer.kind = kind_of(cells);
        answer.parameters = options_.defaults;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const Column& column = columns_[i];
            if (column.role == Column::Role::field && !cells[i].empty() &&
                applies(answer.kind, column.field)) {
                answer.parameters.set(column.field, cells[i]);
            }
        }
        answer.operation = model::make_operation(answer.kind, answer.parameters);
        answer.outcome = model::predict(answer.operation, model::make_execution(answer.parameters),
                                        *answer.machine);
    }

  private:
    std::string_view cell_of(const std::vector<std::string_view>& cells, Column::Role role) const {
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (columns_[i].role == role) return cells[i];
        }
        return {};
    }

    const model::Machine& machine_of(const std::vector<std::string_view>& cells) {
        std::string_view name = cell_of(cells, Column::Role::gpu);
        if (name.empty()) name = options_.gpu;
        if (name.empty()) throw InputError("gpu is missing");
        if (machine_ == nullptr || name != machine_name_) {
            machine_ = &machines_.at(name);
            machine_name_ = name;
        }
        return *machine_;
    }

    model::OperationKind kind_of(const std::vector<std::string_view>& cells) {
        const std::string_view name = cell_of(cells, Column::Role::operation);
        if (name.empty()) {
            if (!options_.operation) throw InputError("op is missing");
            return *options_.operation;
        }
        if (name != kind_name_) {
            kind_ = model::parse_operation_kind(name);
            kind_name_ = name;
        }
        return kind_;
    }

    Machines& machines_;
    const BatchOptions& options_;
    std::vector<Column> columns_;
    const model::Machine* machine_ = nullptr;
    std::string machine_name_;
    model::OperationKind kind_ = model::OperationKind::matmul;
    std::string kind_name_;
};

/// Where rows go; one class per format.
class RowWriter {
  public:
    RowWriter(std::ostream& out, Format format, const std::vector<Column>& columns)
        : out_(out), format_(format), columns_(columns) {
        if (format_ == Format::json) {
            out_ << "[";
            return;
        }
        for (const Column& column : columns_) {
            table_.columns.push_back({column.name});
            header_ += (header_.empty() ? "" : ",");
            append_csv_cell(header_, column.name);
        }
        for (const std::string& name : result_columns()) {
            table_.columns.push_back({name, Align::right});
            header_ += "," + name;
        }
        if (format_ == Format::csv) out_ << header_ << '\n';
    }

    void write(const CsvReader& reader, const Answer& answer, const std::string& error) {
        switch (format_) {
            case Format::csv:
                write_csv_row(reader, answer, error);
                break;
            case Format::json:
                write_json_row(reader, answer, error);
                break;
            default:
                add_table_row(reader, answer, error);
                break;
        }
    }

    void finish() {
        if (format_ == Format::json) out_ << "\n]\n";
        if (format_ == Format::table) write_text(out_, table_);
        if (format_ == Format::markdown) write_markdown(out_, table_);
        flush();
    }

  private:
    void write_csv_row(const CsvReader& reader, const Answer& answer, const std::string& error) {
        line_ += reader.raw();
        for (std::size_t i = reader.cells().size(); i < columns_.size(); ++i) line_ += ',';
        line_ += ',';
        append_result_cells(
            line_, error.empty() ? answer.outcome : model::Outcome(model::NotModelled{error}));
        line_ += '\n';
        if (line_.size() > std::size_t{1} << 16) flush();
    }

    void write_json_row(const CsvReader& reader, const Answer& answer, const std::string& error) {
        nlohmann::ordered_json json;
        if (error.empty()) {
            json = to_json(answer);
        } else {
            json["row"] = reader.line();
            json["error"] = error;
        }
        out_ << (first_ ? "\n" : ",\n")
             << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
        first_ = false;
    }

    void add_table_row(const CsvReader& reader, const Answer& answer, const std::string& error) {
        std::vector<std::string> row;
        for (const std::string_view cell : reader.cells()) row.emplace_back(cell);
        row.resize(columns_.size());
        Answer shown = answer;
        if (!error.empty()) shown.outcome = model::NotModelled{error};
        for (std::string& cell : result_cells(shown)) row.push_back(std::move(cell));
        table_.rows.push_back(std::move(row));
    }

    void flush() {
        out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
        line_.clear();
    }

    std::ostream& out_;
    Format format_;
    const std::vector<Column>& columns_;
    Table table_;
    std::string header_;
    std::string line_;
    bool first_ = true;
};

}  // namespace

BatchResult predict_batch(const Context& context, Machines& machines, const BatchOptions& options) {
    std::unique_ptr<std::ifstream> opened;
    if (options.file != "-") {
        opened = std::make_unique<std::ifstream>(options.file, std::ios::binary);
        if (!*opened) throw InputError("cannot open the file", {options.file, 0, 0});
    }
    std::istream& input = opened ? *opened : context.in;
    CsvReader reader(input, options.file == "-" ? "<stdin>" : options.file);
    RowPredictor predictor(machines, options, read_header(reader, options));
    RowWriter writer(context.out, options.format, predictor.columns());
    Progress progress(context, "rows");

    BatchResult result;
    Answer answer;
    std::string error;
    while (reader.next()) {
        error = reader.problem();
        if (error.empty()) {
            try {
                predictor.predict(reader.cells(), answer);
            } catch (const InputError& broken) {
                error = broken.what();
            }
        }
        const bool failed =
            !error.empty() || std::holds_alternative<model::NotModelled>(answer.outcome);
        result.failed += failed ? 1 : 0;
        writer.write(reader, answer, error);
        progress.count(++result.rows);
    }
    writer.finish();
    return result;
}

}  // namespace ridge::cli
