#include "cli/input/batch.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <ostream>
#include <vector>

#include "cli/input/csv_reader.h"
#include "cli/input/shape_columns.h"
#include "cli/views/prediction.h"
#include "cli/views/progress.h"
#include "cli/views/table.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

void require_names(const ShapeColumns& columns, const BatchOptions& options) {
    if (!options.operation) {
        columns.require(ColumnRole::operation, "op",
                        "add it, or name the operation: ridge predict matmul --from ...");
    }
    if (options.gpu.empty()) {
        columns.require(ColumnRole::gpu, "gpu", "add it, or give --gpu NAME");
    }
}

/// Turns the cells of a row into an answer. Remembers the last names it looked up, since
/// neighbouring rows mostly share them.
class RowPredictor {
  public:
    RowPredictor(Machines& machines, const BatchOptions& options, const ShapeColumns& columns)
        : machines_(machines), options_(options), columns_(columns) {}

    /// Fills `answer`; throws InputError when the row cannot be understood.
    void predict(const std::vector<std::string_view>& cells, Answer& answer) {
        columns_.require_whole(cells);
        answer.machine = &machine_of(cells);
        answer.kind = kind_of(cells);
        answer.parameters = columns_.parameters(answer.kind, cells, options_.defaults);
        cli::predict(answer);
    }

  private:
    const model::Machine& machine_of(const std::vector<std::string_view>& cells) {
        std::string_view name = columns_.cell(cells, ColumnRole::gpu);
        if (name.empty()) name = options_.gpu;
        if (name.empty()) throw InputError("gpu is missing");
        if (machine_ == nullptr || name != machine_name_) {
            machine_ = &machines_.at(name);
            machine_name_ = name;
        }
        return *machine_;
    }

    model::OperationKind kind_of(const std::vector<std::string_view>& cells) {
        const std::string_view name = columns_.cell(cells, ColumnRole::operation);
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
    const ShapeColumns& columns_;
    const model::Machine* machine_ = nullptr;
    std::string machine_name_;
    model::OperationKind kind_ = model::OperationKind::matmul;
    std::string kind_name_;
};

/// Where rows go; one class per format.
class RowWriter {
  public:
    RowWriter(std::ostream& out, Format format, const std::vector<std::string>& columns)
        : out_(out), format_(format), columns_(columns) {
        if (format_ == Format::json) {
            out_ << "[";
            return;
        }
        for (const std::string& column : columns_) {
            table_.columns.push_back({column});
            header_ += (header_.empty() ? "" : ",");
            append_csv_cell(header_, column);
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
        Json json;
        if (error.empty()) {
            json = to_json(answer);
        } else {
            json["row"] = reader.line();
            json["error"] = error;
        }
        out_ << (first_ ? "\n" : ",\n") << json.text();
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
    const std::vector<std::string>& columns_;
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
    const ShapeColumns columns(reader);
    require_names(columns, options);
    RowPredictor predictor(machines, options, columns);
    RowWriter writer(context.out, options.format, columns.names());
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
