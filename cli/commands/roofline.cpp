#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/charts/chart_output.h"
#include "cli/charts/record_charts.h"
#include "cli/commands/commands.h"
#include "cli/input/records.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/keep_option.h"
#include "cli/views/prediction.h"
#include "cli/views/record.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "model/predict.h"
#include "model/roof/roofline.h"
#include "plot/roofline.h"

namespace ridge::cli {
namespace {

struct RooflineOptions {
    explicit RooflineOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::vector<std::string> operations;
    std::string type = "bf16";
    std::vector<std::string> records;
    std::string keep;
    std::vector<std::string> conditions;
    std::string levels;
    ChartOutput output;
};

constexpr double tera = 1e12;

Answer answer_for(const std::string& text, const model::Parameters& defaults,
                  const model::Machine& machine) {
    const model::OperationText parsed = model::parse_operation(text, defaults);
    Answer answer;
    answer.kind = parsed.kind;
    answer.parameters = parsed.parameters;
    answer.machine = &machine;
    predict(answer);
    return answer;
}

/// Operation and shape in few letters: "matmul 4096x4096x4096", "attention 32x4096x128".
struct ShortLabel {
    std::string operator()(const model::Matmul& op) const {
        const std::string batch = op.batch > 1 ? fmt::format("{}x ", op.batch) : "";
        return fmt::format("matmul {}{}x{}x{}", batch, op.m, op.n, op.k);
    }
    std::string operator()(const model::Attention& op) const {
        const bool decode = op.seq_q != op.seq_kv;
        const std::string tokens =
            decode ? fmt::format("{}:{}", op.seq_q, op.seq_kv) : std::to_string(op.seq_q);
        return fmt::format("attention {}x{}x{}", op.batch * op.heads, tokens, op.head_dim);
    }
    std::string operator()(const model::Mla& op) const {
        return fmt::format("mla {}x{}:{}", op.batch * op.heads, op.seq_q, op.seq_kv);
    }
    std::string operator()(const model::Moe& op) const {
        return fmt::format("moe {} x {}/{}, {}x{}", op.tokens, op.topk, op.experts, op.hidden,
                           op.intermediate);
    }
    std::string operator()(const model::Elementwise& op) const {
        return fmt::format("{}, {}", op.expression.text(), op.elements);
    }
    std::string operator()(const model::Copy& op) const {
        return fmt::format("copy {}", op.elements);
    }
    std::string operator()(const model::AdamW& op) const {
        return fmt::format("adamw {}", op.elements);
    }
    std::string operator()(const model::Access& op) const {
        return fmt::format("{} {} {}, {}", name_of(op.pattern), degree_name(op.pattern), op.degree,
                           op.elements);
    }
    std::string operator()(const model::Collective& op) const {
        return fmt::format("{} {} B", name_of(model::Operation(op)), op.bytes);
    }
    template <class Rows>
    std::string operator()(const Rows& op) const {
        return fmt::format("{} {}x{}", name_of(model::Operation(op)), op.rows, op.cols);
    }
};

std::string label_of(const Answer& answer) {
    std::string label = std::visit(ShortLabel{}, answer.operation);
    if (answer.parameters.has(model::Field::impl)) {
        label += " " + answer.parameters.text(model::Field::impl);
    }
    return label;
}

std::vector<plot::Term> tooltip_of(const Answer& answer, const model::Prediction& p) {
    std::vector<plot::Term> terms{
        {"question", text_of(answer.kind, answer.parameters)},
        {"time", format(p.time)},
        {"80 % band", format(p.low) + " to " + format(p.high)},
        {"bound", fmt::format("{}; limited by {}", name_of(p.bound), name_of(p.limiter))},
        {"work", format(p.work.flop())},
        {"DRAM traffic", format_traffic(p.work.dram())},
        {"algorithmic intensity", format(p.algorithmic)},
        {"DRAM intensity", format(p.intensity)},
        {"attainable", format(p.attainable)}};
    for (const model::Term& term : p.terms) {
        terms.push_back({"term " + std::string(name_of(term.resource)), format(term.time)});
    }
    return terms;
}

/// Points with FLOP and traffic; an operation without either cannot stand on a roofline.
void add_point(plot::Roofline& chart, const Answer& answer) {
    const auto* p = std::get_if<model::Prediction>(&answer.outcome);
    if (p == nullptr) {
        chart.notes.push_back(label_of(answer) + ": " +
                              std::get<model::NotModelled>(answer.outcome).reason);
        return;
    }
    if (p->algorithmic <= Intensity{} || p->time <= Time{}) {
        chart.notes.push_back(label_of(answer) + " does no arithmetic and has no intensity");
        return;
    }
    const Flop flop = p->work.flop();
    // What a warm L2 serves has next to no DRAM traffic: it stands where its data would put it.
    const bool from_l2 = p->work.dram() * 2.0 < p->work.compulsory();
    chart.points.push_back(
        {.name = label_of(answer) + (from_l2 ? " (from L2)" : ""),
         .x = (from_l2 ? p->algorithmic : p->intensity).base(),
         .y = (flop / p->time).base() / tera,
         .origin = plot::Origin::predicted,
         .low = p->high > Time{} ? std::optional((flop / p->high).base() / tera) : std::nullopt,
         .high = p->low > Time{} ? std::optional((flop / p->low).base() / tera) : std::nullopt,
         .terms = tooltip_of(answer, *p)});
}

void add_memory_roof(plot::Roofline& chart, const std::string& name,
                     const std::optional<Bandwidth>& bandwidth, bool emphasised) {
    if (!bandwidth) return;
    chart.memory.push_back({.name = name,
                            .value = format(*bandwidth),
                            .slope = bandwidth->base() / tera,
                            .emphasised = emphasised,
                            .terms = {{"bandwidth", format(*bandwidth)}}});
}

void add_compute_roof(plot::Roofline& chart, const std::string& name,
                      const std::optional<FlopRate>& rate, bool emphasised) {
    if (!rate) return;
    chart.compute.push_back({.name = name,
                             .value = format(*rate),
                             .rate = rate->base() / tera,
                             .emphasised = emphasised,
                             .terms = {{"rate", format(*rate)}}});
}

plot::Roofline roofs_chart(const model::Machine& machine, const hardware::Description& gpu,
                           model::DataType type) {
    const model::Roofs roofs = model::roofs_of(machine, type);
    const std::string name(name_of(type));
    plot::Roofline chart;
    chart.title = machine.title + ", " + name;
    add_memory_roof(chart, "DRAM", roofs.dram, true);
    // Where the L2 was measured, that is the one bandwidth there is.
    if (gpu.find("measured.l2.read") == nullptr) add_memory_roof(chart, "L2", roofs.l2, false);
    add_memory_roof(chart, "shared memory", roofs.shared, false);
    add_compute_roof(chart, name + " tensor", roofs.tensor, true);
    const bool double_precision = type == model::DataType::fp64;
    add_compute_roof(chart, double_precision ? "fp64 FMA" : "fp32 FMA", roofs.vector,
                     !roofs.tensor.has_value());
    add_measured_roofs(chart, gpu, type);
    return chart;
}

/// The one GPU that all records come from. InputError when there are several.
std::string gpu_of(const std::vector<measure::Record>& records,
                   const hardware::Catalogue& catalogue) {
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

Levels levels_of(const RooflineOptions& options, std::size_t comparisons) {
    constexpr std::size_t readable = 6;
    if (options.levels.empty()) return comparisons <= readable ? Levels::all : Levels::dram;
    return options.levels == "all" ? Levels::all : Levels::dram;
}

/// Records of the chart's type that meet the conditions.
std::vector<measure::Record> records_of(const Context& context, const RooflineOptions& options,
                                        const Machines& machines, model::DataType type) {
    const std::string gpu = options.gpu.given() ? options.gpu.name() : std::string();
    std::vector<measure::Record> records =
        RecordFilter(options.conditions)
            .apply(load_records(context, options.records, gpu, machines.catalogue(),
                                measure::parse_kept_columns(options.keep))
                       .records);
    std::erase_if(records, [type](const measure::Record& record) {
        return type_of(record.question.operation) != type;
    });
    if (records.empty()) {
        throw InputError("there is no record of type " + std::string(name_of(type)), {},
                         "choose another with --dtype");
    }
    return records;
}

int draw(const Context& context, const RooflineOptions& options) {
    Machines machines = options.gpu.machines(context);
    model::Parameters defaults;
    defaults.set(model::Field::dtype, options.type);
    const auto type = static_cast<model::DataType>(defaults.count(model::Field::dtype));
    std::vector<measure::Record> records;
    if (!options.records.empty()) records = records_of(context, options, machines, type);
    const std::string gpu = options.gpu.given() || records.empty()
                                ? options.gpu.name()
                                : gpu_of(records, machines.catalogue());
    const model::Machine& machine = machines.at(gpu);
    plot::Roofline chart = roofs_chart(machine, machines.description(gpu), type);
    for (const std::string& text : options.operations) {
        add_point(chart, answer_for(text, defaults, machine));
    }
    if (!records.empty()) {
        const measure::Validation validation =
            measure::validate(records, machines.catalogue(), machines.view());
        add_record_points(chart, validation, records,
                          levels_of(options, validation.comparisons.size()));
        if (!validation.unused.empty()) {
            chart.notes.push_back(
                fmt::format("{} records are not compared", validation.unused.size()));
        }
    }
    write_chart_output(context, options.output, plot::roofline_chart(chart));
    return success;
}

}  // namespace

Action build_roofline(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<RooflineOptions>(line);
    line.option("--op", options->operations,
                "operation in words, \"matmul m=4096 n=4096 k=4096\"; may be repeated")
        .value("TEXT");
    line.option("--dtype", options->type, "element type of the roofs and the operations")
        .value("WORD");
    line.option("--records", options->records,
                "files or folders of records: measured points, joined with predicted ones")
        .value("PATH");
    add_keep_option(line, options->keep);
    line.option("--where", options->conditions, "only records with field=value (impl=wgmma, n=@m)")
        .value("TEXT");
    line.option("--levels", options->levels,
                "memory levels of records with counters: dram or all (default: by their number)")
        .one_of({"dram", "all"});
    add_chart_options(line, options->output);
    line.footer(
        "Examples:\n"
        "  ridge roofline --gpu h100-sxm --op \"matmul m=4096 n=4096 k=4096\" \\\n"
        "      --op \"softmax rows=4096 cols=4096\" -o roofline.svg\n"
        "  ridge roofline --gpu a100-sxm-80gb          # in the terminal\n"
        "  ridge roofline --records records/ --where impl=wgmma -o measured.html");
    return [options](const Context& context) { return draw(context, *options); };
}

}  // namespace ridge::cli
