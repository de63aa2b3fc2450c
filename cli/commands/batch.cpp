#include "cli/commands/batch.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <vector>

#include "cli/console/progress.h"
#include "cli/console/table.h"
#include "cli/views/prediction.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "measure/record/csv_reader.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

using measure::ColumnRole;
using measure::CsvReader;
using measure::ShapeColumns;

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
        : out_(out), format_(format), column_count_(columns.size()) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const auto& results = result_columns();
            const bool earlier =
                std::find(results.begin(), results.end(), columns[i]) != results.end();
            if (!earlier) passed_.push_back(i);
        }
        if (format_ == Format::json) {
            out_ << "[";
            return;
        }
        for (const std::size_t i : passed_) {
            table_.columns.push_back({columns[i]});
            append_csv_cell(line_, columns[i]);
            line_ += ',';
        }
        const char* separator = "";
        for (const std::string& name : result_columns()) {
            table_.columns.push_back({name, Align::right});
            line_ += separator + name;
            separator = ",";
        }
        line_ += '\n';
        if (format_ != Format::csv) line_.clear();
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

    /// Whether rows still arrive where they should.
    [[nodiscard]] bool good() const { return static_cast<bool>(out_); }

    void finish() {
        if (format_ == Format::json) out_ << "\n]\n";
        if (format_ == Format::table) write_text(out_, table_);
        if (format_ == Format::markdown) write_markdown(out_, table_);
        flush();
    }

  private:
    void write_csv_row(const CsvReader& reader, const Answer& answer, const std::string& error) {
        const bool as_it_stands = passed_.size() == column_count_ && reader.problem().empty() &&
                                  reader.cells().size() == column_count_;
        if (as_it_stands) {
            line_ += reader.raw();
            line_ += ',';
        } else {
            for (const std::size_t i : passed_) {
                if (i < reader.cells().size()) append_csv_cell(line_, reader.cells()[i]);
                line_ += ',';
            }
        }
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
        for (const std::size_t i : passed_) {
            row.emplace_back(i < reader.cells().size() ? reader.cells()[i] : std::string_view());
        }
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
    std::size_t column_count_;
    std::vector<std::size_t> passed_;  ///< columns of the input that are in the output
    Table table_;
    std::string line_;
    bool first_ = true;
};

}  // namespace

measure::OtherColumns parse_kept_columns(std::string_view text) {
    if (text == "all") return {.names = {}, .all = true};
    measure::OtherColumns kept;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        kept.names.emplace_back(text.substr(0, comma));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    return kept;
}

namespace {

ShapeColumns columns_of(CsvReader& reader, const BatchOptions& options) {
    measure::OtherColumns others = options.keep;
    const auto& results = result_columns();
    others.names.insert(others.names.end(), results.begin(), results.end());
    ShapeColumns columns(reader, others);
    for (const std::string& name : options.keep.names) {
        const auto& names = columns.names();
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            throw InputError("keep: there is no column '" + name + "'", {reader.file(), 1, 1});
        }
    }
    require_names(columns, options);
    return columns;
}

/// Predicts row after row; what the writer holds when reading fails is left to the caller.
void predict_rows(CsvReader& reader, RowPredictor& predictor, RowWriter& writer, Progress& progress,
                  BatchResult& result) {
    Answer answer;
    std::string error;
    while (writer.good() && reader.next()) {
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
}

}  // namespace

BatchResult predict_batch(const Context& context, Machines& machines, const BatchOptions& options) {
    const bool piped = options.file == "-";
    const auto opened = piped ? nullptr : measure::open_table(options.file);
    CsvReader reader(opened ? *opened : context.in, piped ? "<stdin>" : options.file);
    const ShapeColumns columns = columns_of(reader, options);
    RowPredictor predictor(machines, options, columns);
    RowWriter writer(context.out, options.format, columns.names());
    Progress progress(context, "rows");
    BatchResult result;
    try {
        predict_rows(reader, predictor, writer, progress, result);
    } catch (const std::exception&) {
        writer.finish();
        context.out.flush();
        throw;
    }
    writer.finish();
    return result;
}

}  // namespace ridge::cli
