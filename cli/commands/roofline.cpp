// `ridge roofline`: operations and measured records on the roofline of a GPU.
#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <set>

#include "cli/charts/chart_output.h"
#include "cli/charts/chart_rows.h"
#include "cli/charts/energy_roofline.h"
#include "cli/charts/own_points.h"
#include "cli/charts/record_charts.h"
#include "cli/charts/roofline_charts.h"
#include "cli/commands/commands.h"
#include "cli/input/records.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/keep_option.h"
#include "cli/options/operation_command.h"
#include "cli/views/left_out.h"
#include "cli/views/prediction.h"
#include "hardware/error.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

struct RooflineOptions {
    explicit RooflineOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::optional<OperationArgument> operation;  ///< that of `ridge roofline OPERATION`
    std::vector<std::string> operations;
    std::string type;
    std::vector<std::string> records;
    std::string keep;
    std::vector<std::string> conditions;
    std::string levels;
    std::string format;
    ChartOutput output;
    bool energy = false;
};

Answer answer_for(const model::OperationText& parsed, const model::Machine& machine) {
    Answer answer;
    answer.kind = parsed.kind;
    answer.parameters = parsed.parameters;
    answer.machine = &machine;
    predict(answer);
    return answer;
}

/// The one GPU that all records come from. InputError if they come from several.
std::string gpu_of(const std::vector<measure::Record>& records, const model::Catalogue& catalogue) {
    const std::string& device = records.front().device.name;
    for (const measure::Record& record : records) {
        if (record.device.name != device) {
            throw InputError("the records come from several GPUs", {}, "choose one with --gpu");
        }
    }
    std::string name = catalogue.canonical_name(device);
    if (name.empty()) throw InputError("no GPU description is called '" + device + "'");
    return name;
}

/// By default, all levels for a few operations with records, else DRAM alone.
Levels levels_of(const RooflineOptions& options, std::size_t operations) {
    constexpr std::size_t readable = 6;
    if (!options.levels.empty()) return options.levels == "all" ? Levels::all : Levels::dram;
    return !options.records.empty() && operations <= readable ? Levels::all : Levels::dram;
}

/// The records that meet the conditions and, if `type` is given, have that type.
std::vector<measure::Record> records_of(const Context& context, const RooflineOptions& options,
                                        const Machines& machines,
                                        std::optional<model::DataType> type, LeftOut& left_out) {
    std::vector<measure::Record> records =
        RecordFilter(options.conditions)
            .apply(load_records(context, options.records, options.gpu.wanted(),
                                machines.catalogue(), measure::parse_kept_columns(options.keep))
                       .records);
    if (!type) return records;
    std::erase_if(records, [type, &left_out](const measure::Record& record) {
        if (type_of(record.question.operation) == *type) return false;
        left_out.add(record, "not of type " + std::string(name_of(*type)));
        return true;
    });
    if (records.empty()) {
        throw InputError("there is no record of type " + std::string(name_of(*type)), {},
                         "choose another with --dtype");
    }
    return records;
}

/// Adds the records to the charts, and those that cannot be drawn to `left_out`.
void add_records(RooflineCharts& charts, const measure::Validation& validation,
                 const std::vector<measure::Record>& records, Machines& machines,
                 LeftOut& left_out) {
    for (const measure::Comparison& comparison : validation.comparisons) {
        charts.add(comparison, records[comparison.record]);
        if (comparison.prediction.work.flop() > Flop{}) continue;
        left_out.add(records[comparison.record], "without arithmetic");
    }
    const std::set<std::size_t> own = add_own_points(charts, validation, records, machines);
    for (const measure::Unused& unused : validation.unused) {
        if (!own.contains(unused.record)) left_out.add(records[unused.record], unused.reason);
    }
    if (own.size() < validation.unused.size()) {
        charts.note(fmt::format("{} of {} records are not compared: {}.",
                                validation.unused.size() - own.size(), records.size(),
                                unused_reasons(validation)));
    }
}

/// Writes the picture, the values of its roofs and points, or both: -o works with every format.
void write(const Context& context, const RooflineOptions& options, const RooflineCharts& charts,
           model::DataType type) {
    const bool chart = options.format.empty() || options.format == "chart";
    if (chart || !options.output.file.empty()) {
        write_chart_output(context, options.output, charts.finish(type));
    }
    if (chart) return;
    const plot::Roofline whole = charts.whole(type);
    write_rows(context, roofline_rows(whole), parse_format(options.format));
    for (const std::string& note : whole.notes) {
        context.err << "ridge: " << printable(note) << '\n';
    }
}

/// FLOP per joule instead of FLOP per second.
int draw_energy(const Context& context, const RooflineOptions& options) {
    if (!options.records.empty() || !(options.format.empty() || options.format == "chart")) {
        throw InputError("energy: --energy draws operations as a chart");
    }
    Machines machines = options.gpu.machines(context);
    model::Parameters defaults;
    defaults.set(model::Field::dtype, options.type.empty() ? "bf16" : options.type);
    const auto type = static_cast<model::DataType>(defaults.count(model::Field::dtype));
    const model::Machine& machine = machines.at(options.gpu.name());
    std::vector<Answer> answers;
    for (const std::string& text : options.operations) {
        answers.push_back(answer_for(model::parse_operation(text, defaults), machine));
    }
    write_chart_output(context, options.output, energy_roofline(machine, type, answers));
    return success;
}

int draw(const Context& context, const RooflineOptions& options) {
    if (options.energy) return draw_energy(context, options);
    Machines machines = options.gpu.machines(context);
    model::Parameters defaults;
    defaults.set(model::Field::dtype, options.type.empty() ? "bf16" : options.type);
    const auto type = static_cast<model::DataType>(defaults.count(model::Field::dtype));
    std::vector<measure::Record> records;
    LeftOut left_out;
    if (!options.records.empty()) {
        records = records_of(context, options, machines,
                             options.type.empty() ? std::nullopt : std::optional(type), left_out);
    }
    const std::size_t other_types = left_out.count();
    const std::string gpu = options.gpu.given() || records.empty()
                                ? options.gpu.name()
                                : gpu_of(records, machines.catalogue());
    const model::Machine& machine = machines.at(gpu);
    const measure::Validation validation =
        measure::validate(records, machines.catalogue(), machines.view());
    const std::size_t operations = options.operations.size() + validation.comparisons.size();
    RooflineCharts charts(machine, machines.description(gpu), levels_of(options, operations));
    for (const std::string& text : options.operations) {
        const model::StepText step = model::parse_step(text, defaults);
        if (step.count != 1) throw InputError("op: 'count' says nothing of a point");
        charts.add(answer_for(step.operation, machine), step.name);
    }
    write_doubtful_times(context, validation, records);
    add_records(charts, validation, records, machines, left_out);
    write(context, options, charts, type);
    left_out.write(context, other_types + records.size());
    return success;
}

}  // namespace

Action build_roofline(CommandLine& line, std::span<const std::string> arguments) {
    const auto options = std::make_shared<RooflineOptions>(line);
    const bool named = !arguments.empty() && model::find_operation_kind(arguments.front());
    if (named) options->operation.emplace(line, arguments);
    line.option("--op", options->operations,
                "operation in words, \"matmul m=4096 n=4096 k=4096 name=qkv\"; may be repeated")
        .value("TEXT");
    if (!named) {  // an operation has its own --dtype
        line.option("--dtype", options->type,
                    "element type of operations that name none (default bf16); with records: only "
                    "those of this type")
            .value("WORD");
    }
    line.option("--records", options->records,
                "files or folders of records: measured points beside their predictions")
        .value("PATH");
    add_keep_option(line, options->keep);
    line.option("--where", options->conditions, "only records with field=value (op=matmul, n=@m)")
        .value("TEXT");
    line.option("--levels", options->levels,
                "memory levels at which operations are drawn: dram, or all (default for up to six "
                "operations with records)")
        .one_of({"dram", "all"});
    line.flag("--energy", options->energy, "FLOP per joule instead of FLOP per second");
    add_format_option(line, options->format, "chart|table|json|csv|md");
    add_chart_options(line, options->output);
    line.footer(
        "Examples:\n"
        "  ridge roofline --gpu h100-sxm --op \"matmul m=4096 n=4096 k=4096\" \\\n"
        "      --op \"softmax rows=4096 cols=4096\" -o roofline.svg\n"
        "  ridge roofline matmul --m 4096 --n 4096 --k 4096 --gpu a100  # a drawing\n"
        "  ridge roofline --records records/ --where impl=wgmma -o measured.html\n"
        "  ridge roofline --gpu h100-sxm --format csv  # values of the roofs and points");
    return [options](const Context& context) {
        if (options->operation) {
            const model::Parameters parameters = options->operation->parameters();
            options->operations.push_back(text_of(options->operation->kind(), parameters));
        }
        return draw(context, *options);
    };
}

}  // namespace ridge::cli
