// `ridge model`: a whole model from its config: parameters, memory, time.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/charts/memory_chart.h"
#include "cli/charts/model_charts.h"
#include "cli/commands/commands.h"
#include "cli/commands/compare_model.h"
#include "cli/commands/model_serving.h"
#include "cli/input/model_input.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/model_options.h"
#include "cli/options/operation_command.h"
#include "cli/options/training_options.h"
#include "cli/views/model_step.h"
#include "cli/views/training.h"
#include "hardware/error.h"
#include "plot/export.h"
#include "programs/configs/presets.h"
#include "programs/graph/program_reader.h"
#include "programs/model_step.h"

namespace ridge::cli {
namespace {

struct ModelCommand {
    explicit ModelCommand(CommandLine& line)
        : gpu(line), model(line), training(line), serving(line) {}

    GpuOptions gpu;
    ModelOptions model;
    TrainingOptions training;
    ServingOptions serving;
    ChartOutput chart;
    bool list = false;
    bool operations = false;
    std::string chart_name;
    std::string format;
};

int list_presets(const Context& context) {
    for (const std::string& name : programs::preset_names()) context.out << name << '\n';
    return success;
}

/// Whether the question is about several steps: lists of values, or several GPUs. Numbers of GPUs
/// in training have a table of their own.
bool has_lists(const ModelCommand& command) {
    if (command.serving.serve || command.serving.advise || command.training.asked()) return false;
    const std::vector<std::string> varying = command.model.varying();
    if (varying == std::vector<std::string>{"gpus"}) return false;
    return !varying.empty() || (command.gpu.given() && command.gpu.names().size() > 1);
}

int run_lists(const Context& context, ModelCommand& command) {
    if (!command.chart_name.empty() || command.operations) {
        throw InputError(std::string(command.operations ? "all" : "chart") +
                         ": of one step, not of a list of them");
    }
    return compare_steps(context, command.gpu, command.model, command.format, command.chart);
}

/// The charts that were asked for. Without --chart, a page holds all and a picture the step.
std::vector<plot::Chart> charts_of(const ModelCommand& command, const StepAnswer& answer,
                                   const hardware::Description* gpu) {
    const bool page = plot::format_of(command.chart.file) == plot::Format::html;
    const bool timed = answer.time.has_value();
    const auto wanted = [&](const char* name, bool usual) {
        return command.chart_name.empty() ? page || usual : command.chart_name == name;
    };
    if (!timed && !command.chart_name.empty() && command.chart_name != "memory") {
        throw InputError("chart: " + command.chart_name + " needs a GPU", {}, "--gpu h100-sxm");
    }
    if (command.chart_name == "pareto" || command.chart_name == "energy") {
        throw InputError("chart: " + command.chart_name + " needs --serve", {}, "add --serve");
    }
    if (answer.listed &&
        (!timed || command.chart_name == "latency" || command.chart_name == "memory")) {
        throw InputError("chart: a list of operations has only step and roofline, and needs a GPU");
    }
    std::vector<plot::Chart> charts;
    if (timed && wanted("step", true)) charts.push_back(step_chart(answer));
    if (timed && wanted("roofline", false)) charts.push_back(step_roofline(answer, *gpu));
    if (answer.listed) return charts;
    const bool fits = answer.largest_batch.value_or(0) > 0;
    if (!fits && command.chart_name == "latency") {
        throw InputError("chart: not even one sequence fits");
    }
    if (timed && fits && wanted("latency", false)) charts.push_back(latency_chart(answer));
    if (wanted("memory", !timed)) {
        charts.push_back(memory_chart(title_of(answer), answer.step.memory, answer.memory.timeline,
                                      answer.usable));
    }
    return charts;
}

/// The engine whose host and limits count: the one that --software names, else the usual one.
std::string engine_of(const ModelOptions& model) {
    const std::string_view name = model.software().name();
    for (const programs::Engine& each : programs::engines()) {
        if (name.substr(0, name.find('-')) == each.name) return std::string(name);
    }
    return Served{}.engine;
}

int run_serving(const Context& context, const ModelCommand& command,
                const programs::Architecture& architecture, const Place& place, Format format) {
    if (place.machine == nullptr) {
        throw InputError("gpu is missing: which GPU?", {}, "--gpu h100-sxm");
    }
    if (command.serving.advise) {
        programs::Request request = command.model.request();
        if (place.machine->sm_count > 0) request.multiprocessors = place.machine->sm_count;
        write_advice(context, architecture, request, place, format);
        return success;
    }
    if (!command.chart_name.empty() && command.chart_name != "pareto" &&
        command.chart_name != "energy") {
        throw InputError("chart: --serve draws pareto and energy only");
    }
    const ServedFront front =
        command.chart_name == "energy" ? ServedFront::energy : ServedFront::throughput;
    return write_serving(context, command.serving, {.output = command.chart, .front = front},
                         architecture,
                         {.request = command.model.serving_request(),
                          .degrees = command.model.degrees(),
                          .place = place,
                          .engine = engine_of(command.model)},
                         format);
}

/// Whether the question is what the stages of a pipeline hold in prefill or decode.
bool asks_stages(const ModelCommand& command) {
    return command.training.asked() && !command.training.of_training() &&
           command.model.varying().empty() && !command.model.request().training();
}

/// A training step of a layout, or of several numbers of GPUs.
int run_training(const Context& context, const ModelCommand& command,
                 const programs::Architecture& architecture, const Place& place, Format format) {
    const answers::TrainingShape shape = command.training.shape();
    if (asks_stages(command)) {
        write_stages(context, architecture, command.model.request(), place, shape.pipeline, format);
        return success;
    }
    std::vector<TrainingAnswer> found;
    for (const ModelOptions::Variant& each : command.model.variants()) {
        found.push_back(answer_training(architecture, each.request, shape, place));
    }
    const bool scaling = found.size() > 1;
    if (scaling) {
        write_scaling(context, found, format);
    } else {
        write_training(context, found.front(), format);
    }
    if (command.chart.file.empty()) return success;
    const bool drawn = command.chart_name == "pipeline" ||
                       (command.chart_name.empty() && !scaling && shape.pipeline > 1);
    write_chart_output(context, command.chart,
                       {drawn ? pipeline_chart(found.front()) : scaling_chart(found)});
    return success;
}

StepAnswer step_or_list(const ModelCommand& command, const programs::Architecture& architecture,
                        std::optional<programs::Program> program, const Place& place) {
    if (program) return answer_program(architecture, std::move(*program), place);
    programs::check_inputs(architecture, command.model.request());
    return answer_step(architecture, command.model.request(), place);
}

int run_model(const Context& context, ModelCommand& command) {
    if (command.list) return list_presets(context);
    if (command.model.config().empty()) {
        throw InputError("CONFIG is missing", {}, "a config.json, a folder, or a preset (--list)");
    }
    command.serving.check();
    if (command.serving.serve) command.model.usually("serving");
    if (has_lists(command)) return run_lists(context, command);
    std::optional<programs::Program> program = programs::find_program(command.model.config());
    programs::Architecture architecture;
    if (program) {
        architecture.name = program->name;
    } else {
        require_model(command.model.config());
        architecture = command.model.architecture();
        command.model.settle_length(architecture,
                                    command.serving.serve ? command.serving.answer : 0);
    }
    const Format format = parse_format(command.format);
    if (!command.chart_name.empty() && command.chart.file.empty()) {
        throw InputError("chart: --chart needs an output file", {}, "add -o FILE.svg");
    }
    std::optional<Machines> machines;
    Place place;
    const hardware::Description* gpu = nullptr;
    if (command.gpu.known()) {
        machines.emplace(command.gpu.machines(context));
        place = place_on(*machines, command.gpu.name());
        gpu = &machines->description(command.gpu.name());
        place.machine = with_software(place.machine, command.model.software());
    }
    place.host = command.model.host_or(place.host);
    if (program && (command.serving.serve || command.serving.advise)) {
        throw InputError("--serve and --advise do not apply to a list of operations");
    }
    if (command.serving.serve || command.serving.advise) {
        if (command.training.asked()) {
            throw InputError("pp, cp, micro-batches: not with --serve or --advise", {},
                             "ridge plan serves with stages: ridge plan MODEL --pp 2");
        }
        return run_serving(context, command, architecture, place, format);
    }
    const std::vector<std::string> varying = command.model.varying();
    if (command.training.asked() || varying == std::vector<std::string>{"gpus"}) {
        if (program) throw InputError("pp, cp, micro-batches: not for a list of operations");
        return run_training(context, command, architecture, place, format);
    }
    if (command.chart_name == "pipeline" || command.chart_name == "scaling") {
        throw InputError("chart: " + command.chart_name + " needs --phase train", {},
                         "--phase train --pp 4, or --gpus 1:64:*2");
    }
    StepAnswer answer = step_or_list(command, architecture, std::move(program), place);
    add_largest(answer);
    // Errors come before anything is written.
    std::vector<plot::Chart> charts;
    if (!command.chart.file.empty()) charts = charts_of(command, answer, gpu);
    write_step(context, answer, command.operations, format);
    if (!charts.empty()) write_chart_output(context, command.chart, charts);
    return success;
}

}  // namespace

Action build_model(CommandLine& line, std::span<const std::string> /*arguments*/) {
    const auto command = std::make_shared<ModelCommand>(line);
    line.flag("--list", command->list, "list the presets");
    line.flag("--all", command->operations, "list every kernel, not only totals per operation");
    line.option("-o,--output", command->chart.file,
                "charts: all on an .html page, one as .svg, .png or .pdf")
        .value("FILE");
    line.option("--chart", command->chart_name, "which chart (default: step; serve: pareto)")
        .one_of(
            {"step", "roofline", "latency", "memory", "pareto", "energy", "pipeline", "scaling"});
    add_format_option(line, command->format, "table|json|csv|md");
    line.footer(
        "Examples:\n"
        "  ridge model llama-3.1-8b --gpu h100-sxm\n"
        "  ridge model qwen3-8b --phase decode --batch 32 --seq 4096 --gpu h200-sxm \\\n"
        "      --software serving\n"
        "  ridge model ./my-model --phase train --batch 4 --seq 2048 --gpu h100-sxm\n"
        "  ridge model llama-3.2-1b --phase train --pp 4 --micro-batches 8 --gpu h200-sxm\n"
        "  ridge model llama-3.2-1b --phase train --gpus 1:8:*2 --gpu h200-sxm -o s.svg\n"
        "  ridge model llama-3.1-8b --serve --tpot '30 ms' --price 3.5 --gpu h100-sxm \\\n"
        "      --software serving --tp 1,2,4 -o front.svg\n"
        "  ridge model llama-3.1-8b --gpu h100-sxm -o roofline.svg --chart roofline\n"
        "  ridge model llama-3.1-8b --gpu h100,b200 --batch 1,8,64 --dtype bf16,fp16\n"
        "Lists give a row for each combination, as `ridge compare MODEL` does.");
    return [command](const Context& context) { return run_model(context, *command); };
}

}  // namespace ridge::cli
