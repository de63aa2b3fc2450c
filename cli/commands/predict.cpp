// `ridge predict`: one operation, a sequence of them, or a table (batch.h).
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>

#include "cli/commands/batch.h"
#include "cli/commands/commands.h"
#include "cli/commands/compare.h"
#include "cli/console/decimal_note.h"
#include "cli/console/json_document.h"
#include "cli/console/percent.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/energy_options.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/prediction.h"
#include "cli/views/sequence.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/own/predict.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

struct PredictOptions {
    PredictOptions(CommandLine& line, std::span<const std::string> arguments)
        : gpu(line), operation(line, arguments), energy(line), price(line) {}

    GpuOptions gpu;
    OperationArgument operation;
    EnergyConditionOptions energy;
    EnergyPriceOptions price;
    std::string from;
    std::string format;
    bool explain = false;
    std::string keep;
    std::string time;
    std::int32_t jobs = 0;  ///< 0 when not given
    std::vector<std::string> sequence;
};

/// Writes numbers that read back exactly, as `--from` does for a table.
void write_csv(const Context& context, const Answer& answer) {
    std::string text = "op,gpu";
    for (const std::string& name : result_columns()) text += "," + name;
    text += '\n';
    append_csv_cell(text, text_of(answer.kind, answer.parameters));
    text += "," + answer.machine->name + ",";
    append_result_cells(text, answer.outcome);
    context.out << text << '\n';
}

void write_answer(const Context& context, const Answer& answer, Format format, Detail detail) {
    if (format == Format::json) {
        write_document(context.out, "prediction", to_json(answer));
        return;
    }
    if (format == Format::table) {
        write_summary(context, answer, detail);
        return;
    }
    if (format == Format::csv) {
        write_csv(context, answer);
        return;
    }
    Table table{.columns = {{"op"}, {"gpu"}}, .rows = {}};
    for (const std::string& name : result_columns()) {
        table.columns.push_back({name, Align::right});
    }
    std::vector<std::string> row{text_of(answer.kind, answer.parameters), answer.machine->name};
    for (std::string& cell : result_cells(answer)) row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
    write_markdown(context.out, table);
}

/// Where the rest of a measured time of a kernel may come from.
std::vector<model::GapPart> gap_of(const Answer& answer, const std::string& time) {
    const auto* const kernel = std::get_if<model::OwnKernel>(&answer.operation);
    if (kernel == nullptr) {
        throw InputError("time: --time goes with a kernel", {},
                         "ridge diagnose compares measured times of other operations");
    }
    const auto measured = parse_quantity<Time>(time);
    if (measured <= Time{}) throw InputError("time: more than 0");
    return model::gap_of(*kernel, answer.execution, *answer.machine, measured);
}

void write_gap(const Context& context, const std::vector<model::GapPart>& parts) {
    Time all;
    for (const model::GapPart& part : parts) all += part.time;
    if (parts.empty()) return;
    context.out << "\n  measured " << format(all) << ", of which\n";
    for (const model::GapPart& part : parts) {
        context.out << fmt::format("    {:<38} {} ({})\n", part.name, format(part.time),
                                   percent(part.time / all));
    }
}

Json to_json(const std::vector<model::GapPart>& parts) {
    Json list = Json::array();
    for (const model::GapPart& part : parts) {
        list.push_back({{"part", part.name}, {"time_us", part.time.in(units::us)}});
    }
    return list;
}

/// A kernel and its measured time.
int write_with_gap(const Context& context, const Answer& answer, const PredictOptions& options) {
    const std::vector<model::GapPart> parts = gap_of(answer, options.time);
    const Format format = parse_format(options.format);
    if (format == Format::json) {
        Json json = to_json(answer);
        json["gap"] = to_json(parts);
        write_document(context.out, "prediction", std::move(json));
    } else {
        write_answer(context, answer, format,
                     options.explain ? Detail::explained : Detail::summary);
        if (format == Format::table) write_gap(context, parts);
    }
    return std::holds_alternative<model::NotModelled>(answer.outcome) ? bad_data : success;
}

SequenceStep step_of(const model::Machine& machine, const model::StepText& text,
                     const std::string& gpu_origin, const model::EnergyConditions& conditions) {
    SequenceStep step{.answer = {}, .count = text.count, .name = text.name};
    step.answer.kind = text.operation.kind;
    step.answer.parameters = text.operation.parameters;
    step.answer.machine = &machine;
    step.answer.gpu_origin = gpu_origin;
    step.answer.conditions = conditions;
    predict(step.answer);
    return step;
}

/// What a million runs of the sequence cost, if a price or the grid's CO2 was given.
void write_price(const Context& context, const EnergyPriceOptions& price,
                 const Sequence& sequence) {
    const auto energy = sequence.energy();
    if (!price.given() || !energy) return;
    context.out << fmt::format("  {:<12}  {}\n", "million runs", price.text(1e6 * energy->energy));
}

int predict_one(const Context& context, const PredictOptions& options) {
    if (options.sequence.empty() && has_lists(options.gpu, options.operation)) {
        if (options.explain) throw InputError("explain: --explain is for one operation at a time");
        return compare_lists(context, options.gpu, options.operation, options.format);
    }
    options.operation.require_complete(options.gpu);
    Machines machines = options.gpu.machines(context);
    const model::Machine& machine = machines.at(options.gpu.name());
    const std::string origin = options.gpu.origin();
    Sequence sequence;
    if (options.operation.given()) {
        sequence.add(step_of(machine,
                             {.operation = {.kind = options.operation.kind(),
                                            .parameters = options.operation.parameters()}},
                             origin, options.energy.conditions()));
    }
    for (const std::string& text : options.sequence) {
        sequence.add(
            step_of(machine, model::parse_step(text), origin, options.energy.conditions()));
    }
    const Format format = parse_format(options.format);
    const auto& steps = sequence.steps();
    const bool alone = steps.size() == 1 && steps.front().count == 1 && steps.front().name.empty();
    if (!options.time.empty()) {
        if (!alone) throw InputError("time: --time is for one kernel at a time");
        return write_with_gap(context, steps.front().answer, options);
    }
    if (alone) {
        write_answer(context, steps.front().answer, format,
                     options.explain ? Detail::explained : Detail::summary);
    } else {
        for (const SequenceStep& step : steps) {
            if (!options.explain || format != Format::table) break;
            write_summary(context, step.answer, Detail::explained);
            context.out << '\n';
        }
        write_sequence(context, sequence, format);
    }
    if (format == Format::table) write_price(context, options.price, sequence);
    for (const SequenceStep& step : steps) {
        if (std::holds_alternative<model::NotModelled>(step.answer.outcome)) return bad_data;
    }
    return success;
}

int predict_many(const Context& context, const PredictOptions& options) {
    if (!options.sequence.empty()) {
        throw InputError("op: --op and --from cannot be given together", {},
                         "to name one operation for all rows: ridge predict matmul --from ...");
    }
    if (options.energy.given() || options.price.given()) {
        throw InputError("power: conditions and prices of energy are not for --from");
    }
    if (options.explain) {
        throw InputError("explain: --explain is for single operations, not for --from");
    }
    if (!options.time.empty()) throw InputError("time: --time is for one kernel, not for --from");
    Machines machines = options.gpu.machines(context);
    const BatchOptions batch{
        .file = options.from,
        .gpu = options.gpu.known() ? options.gpu.name() : std::string(),
        .operation = options.operation.optional_kind(),
        .defaults = options.operation.parameters(),
        .format = options.format.empty() ? Format::csv : parse_format(options.format),
        .keep = measure::parse_kept_columns(options.keep),
        .jobs = options.jobs == 0 ? std::nullopt : std::optional<int>(options.jobs)};
    const BatchResult result = predict_batch(context, machines, batch);
    if (result.decimal_prefix) write_decimal_note_of_table(context);
    if (result.failed > 0) {
        context.err << "ridge: " << result.failed << " of " << result.rows
                    << " rows could not be predicted; see the column 'error'\n";
        return bad_data;
    }
    return success;
}

}  // namespace

Action build_predict(CommandLine& line, std::span<const std::string> arguments) {
    const auto options = std::make_shared<PredictOptions>(line, arguments);
    add_format_option(line, options->format, "table|json|csv|md");
    line.option("--time", options->time,
                "a measured time of a kernel: where the difference may come from")
        .value("TIME");
    line.flag("--explain", options->explain, "show every term and what limits the time");
    line.option("--op", options->sequence,
                "operation in words, \"softmax rows=4096 cols=4096 count=32 name=scores\"; repeat "
                "for a sequence")
        .value("TEXT");
    line.option("--from", options->from, "CSV of shapes, one prediction per row; - is stdin")
        .value("FILE");
    line.option("--keep", options->keep,
                "with --from: more columns to pass through, separated by commas, or all")
        .value("NAMES");
    line.option("--jobs", options->jobs,
                "with --from: threads that predict (default: one per core)")
        .value("COUNT")
        .in_range(1, most_jobs);
    line.footer(
        "Examples:\n"
        "  ridge predict matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm --explain\n"
        "  ridge predict attention --heads 32 --kv-heads 8 --seq 4096 --head-dim 128 \\\n"
        "      --causal --impl flash2 --gpu a100-sxm-80gb\n"
        "  ridge predict elementwise --expr \"gelu(x + bias)\" --elements 16777216 \\\n"
        "      --gpu h100-sxm\n"
        "  ridge predict kernel --flop 137e9 --dtype bf16 --pipe tensor --bytes 101MB \\\n"
        "      --grid 512 --block 256 --registers 168 --shared 200KiB --time 240us\n"
        "  ridge predict --from shapes.csv --format csv --gpu h200-sxm");
    return [options](const Context& context) {
        if (!options->from.empty()) return predict_many(context, *options);
        if (!options->keep.empty()) throw InputError("keep: --keep goes with --from");
        if (options->jobs != 0) throw InputError("jobs: --jobs goes with --from");
        if (!options->operation.given() && options->sequence.empty()) {
            static_cast<void>(options->operation.kind());
        }
        return predict_one(context, *options);
    };
}

}  // namespace ridge::cli
