#include "cli/commands/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <thread>
#include <vector>

#include "cli/commands/ordered_blocks.h"
#include "cli/console/progress.h"
#include "cli/console/table.h"
#include "cli/input/row_block.h"
#include "cli/views/left_out.h"
#include "cli/views/prediction.h"
#include "cli/views/sequence.h"
#include "hardware/error.h"
#include "hardware/input_file.h"
#include "hardware/json.h"
#include "hardware/units.h"
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

/// Machines that several threads share. Look-ups are serialised; a machine never changes.
class SharedMachines {
  public:
    explicit SharedMachines(Machines& machines) : machines_(machines) {}

    const model::Machine& at(std::string_view name) {
        const std::scoped_lock lock(mutex_);
        return machines_.at(name);
    }

  private:
    Machines& machines_;
    std::mutex mutex_;
};

/// Turns the cells of a row into an answer. Remembers the last names it looked up, since
/// neighbouring rows mostly share them.
class RowPredictor {
  public:
    /// Sets `decimal_prefix` when a row writes a count with k, M or G.
    RowPredictor(SharedMachines& machines, const BatchOptions& options, const ShapeColumns& columns,
                 std::atomic<bool>& decimal_prefix)
        : machines_(machines),
          options_(options),
          columns_(columns),
          decimal_prefix_(decimal_prefix) {}

    /// Fills `answer`, or sets `error` to why the row cannot be understood. Returns whether there
    /// is a prediction.
    bool answer(const Row& row, Answer& answer, std::string& error) {
        error = row.problem;
        if (error.empty()) {
            try {
                predict(row.cells, answer);
            } catch (const InputError& broken) {
                error = broken.what();
            }
        }
        return error.empty() && !std::holds_alternative<model::NotModelled>(answer.outcome);
    }

    /// The row answered last, as a step of a sequence.
    [[nodiscard]] SequenceStep step(const Row& row, const Answer& answer,
                                    const std::string& error) const {
        SequenceStep step{.answer = answer, .count = count_};
        const bool whole = row.cells.size() == columns_.names().size();
        if (whole) step.name = columns_.cell(row.cells, ColumnRole::name);
        if (!error.empty()) {
            step.count = 1;
            step.answer.outcome = model::NotModelled{error};
            if (step.name.empty()) step.name = "line " + std::to_string(row.line);
            return step;
        }
        const std::string_view measured = columns_.cell(row.cells, ColumnRole::measured);
        if (!measured.empty()) {
            step.measured = parse_number(measured, "measured") * columns_.measured_unit();
        }
        return step;
    }

    /// The row's own name, and how often the row repeats.
    [[nodiscard]] std::string_view name(const Row& row) const {
        return columns_.cell(row.cells, ColumnRole::name);
    }
    [[nodiscard]] std::optional<std::int64_t> count(const Row& row) const {
        if (columns_.cell(row.cells, ColumnRole::count).empty()) return std::nullopt;
        return count_;
    }

  private:
    void predict(const std::vector<std::string_view>& cells, Answer& answer) {
        columns_.require_whole(cells);
        const std::string_view count = columns_.cell(cells, ColumnRole::count);
        count_ = count.empty() ? 1 : model::parse_repetitions(count);
        answer.machine = &machine_of(cells);
        answer.kind = kind_of(cells);
        answer.parameters = columns_.parameters(answer.kind, cells, options_.defaults);
        if (answer.parameters.decimal_prefix() && !options_.defaults.decimal_prefix()) {
            decimal_prefix_ = true;
        }
        cli::predict(answer);
    }

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

    SharedMachines& machines_;
    const BatchOptions& options_;
    const ShapeColumns& columns_;
    std::int64_t count_ = 1;
    std::atomic<bool>& decimal_prefix_;
    const model::Machine* machine_ = nullptr;
    std::string machine_name_;
    model::OperationKind kind_ = model::OperationKind::matmul;
    std::string kind_name_;
};

/// Rows and their answers as text, for formats whose rows do not depend on each other.
class RowText {
  public:
    RowText(Format format, const std::vector<std::string>& columns)
        : format_(format), column_count_(columns.size()) {
        const auto& results = result_columns();
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const bool earlier =
                std::find(results.begin(), results.end(), columns[i]) != results.end();
            if (!earlier) passed_.push_back(i);
        }
    }

    /// The input columns that are copied to the output.
    [[nodiscard]] const std::vector<std::size_t>& passed() const { return passed_; }

    /// Each JSON row begins with the comma that separates it from the row before.
    void append(std::string& text, const Row& row, const Answer& answer, const std::string& error,
                const RowPredictor& predictor) const {
        format_ == Format::json ? append_json(text, row, answer, error, predictor)
                                : append_csv(text, row, answer, error);
    }

  private:
    void append_csv(std::string& text, const Row& row, const Answer& answer,
                    const std::string& error) const {
        const bool as_it_stands = passed_.size() == column_count_ && row.problem.empty() &&
                                  row.cells.size() == column_count_ &&
                                  std::none_of(row.cells.begin(), row.cells.end(),
                                               [](auto cell) { return is_formula(cell); });
        if (as_it_stands) {
            text += row.raw;
            text += ',';
        } else {
            for (const std::size_t i : passed_) {
                if (i < row.cells.size()) append_csv_cell(text, row.cells[i]);
                text += ',';
            }
        }
        append_result_cells(
            text, error.empty() ? answer.outcome : model::Outcome(model::NotModelled{error}));
        text += '\n';
    }

    static void append_json(std::string& text, const Row& row, const Answer& answer,
                            const std::string& error, const RowPredictor& predictor) {
        Json json;
        if (error.empty()) {
            json = to_json(answer);
            const std::string_view name = predictor.name(row);
            if (!name.empty()) json["name"] = name;
            if (const auto count = predictor.count(row)) json["count"] = *count;
        } else {
            json["row"] = row.line;
            json["error"] = error;
        }
        text += ",\n";
        json.append_to(text);
    }

    Format format_;
    std::size_t column_count_;
    std::vector<std::size_t> passed_;
};

/// Writes rows in one of the formats.
class RowWriter {
  public:
    RowWriter(std::ostream& out, Format format, const std::vector<std::string>& columns,
              const RowText& text)
        : out_(out), format_(format), text_(text) {
        for (const std::size_t i : text_.passed()) table_.columns.push_back({columns[i]});
        for (const std::string& name : result_columns()) {
            table_.columns.push_back({name, Align::right});
        }
        if (format_ == Format::json) out_ << "[";
        if (format_ != Format::csv) return;
        const char* separator = "";
        for (const Column& column : table_.columns) {
            line_ += separator;
            append_csv_cell(line_, column.name);
            separator = ",";
        }
        line_ += '\n';
    }

    /// Whether rows can be written one by one. A table's column widths depend on all its rows.
    [[nodiscard]] bool takes_text() const {
        return format_ == Format::csv || format_ == Format::json;
    }

    void write(const Row& row, const Answer& answer, const std::string& error,
               const RowPredictor& predictor) {
        if (!takes_text()) {
            add_table_row(row, answer, error);
            return;
        }
        const std::size_t begin = line_.size();
        text_.append(line_, row, answer, error, predictor);
        if (format_ == Format::json && first_) line_.erase(begin, 1);
        first_ = false;
        if (line_.size() > std::size_t{1} << 16) flush();
    }

    /// Writes rows that `RowText` made.
    void write(std::string_view text) {
        if (text.empty()) return;
        flush();
        if (format_ == Format::json && first_) text.remove_prefix(1);
        first_ = false;
        out_.write(text.data(), static_cast<std::streamsize>(text.size()));
    }

    /// Whether the output still takes rows.
    [[nodiscard]] bool good() const { return static_cast<bool>(out_); }

    void finish() {
        flush();
        if (format_ == Format::json) out_ << "\n]\n";
        if (format_ == Format::markdown) write_markdown(out_, table_);
    }

  private:
    void add_table_row(const Row& row, const Answer& answer, const std::string& error) {
        std::vector<std::string> cells;
        for (const std::size_t i : text_.passed()) {
            cells.emplace_back(i < row.cells.size() ? row.cells[i] : std::string_view());
        }
        Answer shown = answer;
        if (!error.empty()) shown.outcome = model::NotModelled{error};
        for (std::string& cell : result_cells(shown)) cells.push_back(std::move(cell));
        table_.rows.push_back(std::move(cells));
    }

    void flush() {
        out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
        line_.clear();
    }

    std::ostream& out_;
    Format format_;
    const RowText& text_;
    Table table_;
    std::string line_;
    bool first_ = true;
};

ShapeColumns columns_of(CsvReader& reader, const BatchOptions& options) {
    measure::OtherColumns others = options.keep;
    const auto& results = result_columns();
    others.names.insert(others.names.end(), results.begin(), results.end());
    ShapeColumns columns(reader, others);
    columns.require_kept(options.keep);
    require_names(columns, options);
    return columns;
}

/// Predicts row after row. If reading fails, the caller handles what the writer still holds.
void predict_rows(CsvReader& reader, RowPredictor& predictor, RowWriter& writer, Progress& progress,
                  BatchResult& result) {
    Answer answer;
    std::string error;
    while (writer.good() && reader.next()) {
        const Row row = row_of(reader);
        result.failed += predictor.answer(row, answer, error) ? 0 : 1;
        writer.write(row, answer, error, predictor);
        progress.count(++result.rows);
    }
}

/// Column widths and the sum need all rows at once, at 3 kB each.
constexpr std::int64_t most_rows_of_a_table = 100'000;

/// Writes all rows as one table with their sum; `unit` is the unit of measured times.
void predict_sequence(const Context& context, CsvReader& reader, RowPredictor& predictor, Time unit,
                      Progress& progress, BatchResult& result) {
    Sequence sequence;
    Answer answer;
    std::string error;
    DoubtfulTimes doubtful(context);
    try {
        while (reader.next()) {
            const Row row = row_of(reader);
            if (result.rows == most_rows_of_a_table) {
                throw InputError(fmt::format("a table has at most {} rows", most_rows_of_a_table),
                                 {.file = reader.file(), .line = row.line},
                                 "--format csv or json takes any number");
            }
            result.failed += predictor.answer(row, answer, error) ? 0 : 1;
            sequence.add(predictor.step(row, answer, error));
            const SequenceStep& step = sequence.steps().back();
            const auto* p = std::get_if<model::Prediction>(&step.answer.outcome);
            if (step.measured && p != nullptr) {
                doubtful.look_at({reader.file(), row.line}, *step.measured, unit, *p);
            }
            progress.count(++result.rows);
        }
    } catch (const std::exception&) {
        sequence.cut_short();
        write_sequence(context, sequence, Format::table);
        throw;
    }
    write_sequence(context, sequence, Format::table);
}

/// The work of one thread on a block. The text ends with the last row that was answered.
OrderedBlocks::Work answer_rows(RowPredictor predictor, const RowText& text) {
    return [predictor = std::move(predictor), &text, answer = Answer(), error = std::string(),
            cells = std::vector<std::string_view>()](AnsweredBlock& block) mutable {
        for (std::size_t i = 0; i < block.rows.size(); ++i) {
            const std::size_t end = block.text.size();
            try {
                const Row row = block.rows.row(i, cells);
                const bool predicted = predictor.answer(row, answer, error);
                text.append(block.text, row, answer, error, predictor);
                block.failed += predicted ? 0 : 1;
                ++block.answered;
            } catch (...) {
                block.text.resize(end);
                throw;
            }
        }
    };
}

/// Reads a block; false at the end of the input. With `prompt`, the block also ends when the next
/// row is not available yet.
bool fill(CsvReader& reader, RowBlock& rows, bool prompt) {
    while (!rows.full()) {
        if (!reader.next()) return false;
        rows.add(row_of(reader));
        if (prompt && reader.must_wait()) return true;
    }
    return true;
}

void write_block(const AnsweredBlock& block, RowWriter& writer, Progress& progress,
                 BatchResult& result) {
    writer.write(block.text);
    result.failed += block.failed;
    for (std::int64_t i = 0; i < block.answered; ++i) progress.count(++result.rows);
    if (block.failure) std::rethrow_exception(block.failure);
}

/// Predicts with several threads. This thread reads blocks and writes them in the order of the
/// input. Before it waits for a pipe, it writes all that it has read.
void predict_blocks(CsvReader& reader, OrderedBlocks& blocks, RowWriter& writer, bool piped,
                    Progress& progress, BatchResult& result) {
    std::exception_ptr unreadable;
    bool more = true;
    while (more && writer.good()) {
        OrderedBlocks::Block block = blocks.spare();
        try {
            more = fill(reader, block->rows, piped);
        } catch (const std::exception&) {
            unreadable = std::current_exception();
            more = false;
        }
        if (block->rows.size() > 0) blocks.submit(std::move(block));
        const bool all = !more || (piped && reader.must_wait());
        while (writer.good() && !blocks.empty() && (all || blocks.full() || blocks.oldest_done())) {
            OrderedBlocks::Block oldest = blocks.take();
            write_block(*oldest, writer, progress, result);
            blocks.give_back(std::move(oldest));
        }
    }
    if (unreadable) std::rethrow_exception(unreadable);
}

/// The number of threads that was given, else one per core of this process.
int jobs_of(const BatchOptions& options) {
    if (options.jobs) return *options.jobs;
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_jobs);
}

}  // namespace

BatchResult predict_batch(const Context& context, Machines& machines, const BatchOptions& options) {
    const bool piped = options.file == "-";
    const auto opened = piped ? nullptr : open_input(options.file, Pipes::allowed);
    CsvReader reader(opened ? *opened : context.in, piped ? "<stdin>" : options.file);
    const ShapeColumns columns = columns_of(reader, options);
    SharedMachines shared(machines);
    std::atomic<bool> decimal_prefix = false;
    RowPredictor predictor(shared, options, columns, decimal_prefix);
    Progress progress(context, "rows");
    BatchResult result;
    if (options.format == Format::table) {
        predict_sequence(context, reader, predictor, columns.measured_unit(), progress, result);
        return result;
    }
    const RowText text(options.format, columns.names());
    RowWriter writer(context.out, options.format, columns.names(), text);
    const int jobs = jobs_of(options);
    try {
        if (jobs == 1 || !writer.takes_text()) {
            predict_rows(reader, predictor, writer, progress, result);
        } else {
            OrderedBlocks blocks(jobs, [&] { return answer_rows(predictor, text); });
            predict_blocks(reader, blocks, writer, piped, progress, result);
        }
    } catch (const std::exception&) {
        writer.finish();
        context.out.flush();
        throw;
    }
    writer.finish();
    result.decimal_prefix = decimal_prefix;
    return result;
}

}  // namespace ridge::cli
