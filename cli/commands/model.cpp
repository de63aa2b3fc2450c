// `ridge model`: a whole model from its config: parameters, memory, time.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/charts/memory_chart.h"
#include "cli/commands/commands.h"
#include "cli/commands/model_serving.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/model_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/memory.h"
#include "cli/views/model_step.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "model/footprint/memory_fit.h"
#include "programs/configs/presets.h"
#include "programs/model_step.h"

namespace ridge::cli {
namespace {

struct ModelCommand {
    explicit ModelCommand(CommandLine& line) : gpu(line), model(line), serving(line) {}

    GpuOptions gpu;
    ModelOptions model;
    ServingOptions serving;
    ChartOutput chart;
    bool list = false;
    bool operations = false;
    std::string format;
};

int list_presets(const Context& context) {
    for (const std::string& name : programs::preset_names()) context.out << name << '\n';
    return success;
}

int run_model(const Context& context, const ModelCommand& command) {
    if (command.list) return list_presets(context);
    if (command.model.config().empty()) {
        throw InputError("CONFIG is missing", {}, "a config.json, a folder, or a preset (--list)");
    }
    const programs::Architecture architecture = programs::find_model(command.model.config());
    programs::Request request = command.model.request();
    const bool json = command.format == "json";
    std::optional<Machines> machines;
    const model::Machine* machine = nullptr;
    std::int64_t usable = 0;
    programs::Host host = programs::host_beside({});
    if (command.gpu.given()) {
        machines.emplace(command.gpu.machines(context));
        const std::string gpu = command.gpu.name();
        machine = &machines->at(gpu);
        usable = model::usable_memory(machines->description(gpu)).bytes;
        host = programs::host_beside(gpu);
        if (machine->sm_count > 0) request.multiprocessors = machine->sm_count;
    }
    if (!command.model.host().empty()) host = programs::find_host(command.model.host());
    if (command.serving.serve || command.serving.advise) {
        if (machine == nullptr)
            throw InputError("gpu is missing: which GPU?", {}, "--gpu h100-sxm");
        if (command.serving.advise) {
            write_advice(context, architecture, request, *machine, host, json);
            return success;
        }
        return write_serving(context, command.serving, command.chart, architecture, request,
                             *machine, host, usable, json);
    }
    StepAnswer answer{.architecture = &architecture,
                      .request = request,
                      .step = make_step(architecture, request),
                      .memory = {},
                      .host = host,
                      .machine = machine};
    answer.memory = memory_of(answer.step);
    if (machine != nullptr) {
        answer.usable = bytes_of(usable);
        answer.time = predict(answer.step, *machine, answer.host);
    }
    if (json) {
        context.out << json_of(answer, command.operations).text(2) << '\n';
    } else {
        write_step(context, answer, command.operations);
    }
    if (!command.chart.file.empty()) {
        write_chart_output(
            context, command.chart,
            memory_chart(fmt::format("{}, {} of {} x {}", architecture.name, name_of(request.phase),
                                     request.batch, request.seq),
                         answer.step.memory, answer.memory.timeline, answer.usable));
    }
    return success;
}

}  // namespace

Action build_model(CommandLine& line, std::span<const std::string> /*arguments*/) {
    const auto command = std::make_shared<ModelCommand>(line);
    line.flag("--list", command->list, "name the presets");
    line.flag("--all", command->operations, "every kernel, not only the sums of operations");
    line.option("-o,--output", command->chart.file,
                "the step's memory (with --serve: throughput) as a chart: .svg, .html, .png, .pdf")
        .value("FILE");
    add_format_option(line, command->format, "table|json");
    line.footer(
        "Examples:\n"
        "  ridge model llama-3.1-8b --gpu h100-sxm\n"
        "  ridge model qwen3-8b --phase decode --batch 32 --seq 4096 --gpu h200-sxm \\\n"
        "      --software serving\n"
        "  ridge model ./my-model --phase train --batch 4 --seq 2048 --gpu h100-sxm\n"
        "  ridge model llama-3.1-8b --serve --tpot '30 ms' --price 3.5 --gpu h100-sxm \\\n"
        "      --software serving");
    return [command](const Context& context) { return run_model(context, *command); };
}

}  // namespace ridge::cli
