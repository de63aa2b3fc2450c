// `ridge model`: a whole model from its config: parameters, memory, time.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
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
    explicit ModelCommand(CommandLine& line) : gpu(line), model(line) {}

    GpuOptions gpu;
    ModelOptions model;
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
    StepAnswer answer{.architecture = &architecture,
                      .request = command.model.request(),
                      .step = {},
                      .memory = {},
                      .host = programs::default_host()};
    answer.step = make_step(architecture, answer.request);
    answer.memory = memory_of(answer.step);
    std::optional<Machines> machines;
    if (command.gpu.given()) {
        machines.emplace(command.gpu.machines(context));
        const std::string gpu = command.gpu.name();
        answer.machine = &machines->at(gpu);
        answer.usable = bytes_of(model::usable_memory(machines->description(gpu)).bytes);
        answer.time = predict(answer.step, *answer.machine, answer.host);
    }
    if (command.format == "json") {
        context.out << json_of(answer, command.operations).text(2) << '\n';
    } else {
        write_step(context, answer, command.operations);
    }
    return success;
}

}  // namespace

Action build_model(CommandLine& line, std::span<const std::string> /*arguments*/) {
    const auto command = std::make_shared<ModelCommand>(line);
    line.flag("--list", command->list, "name the presets");
    line.flag("--all", command->operations, "every kernel, not only the sums of operations");
    add_format_option(line, command->format, "table|json");
    line.footer(
        "Examples:\n"
        "  ridge model llama-3.1-8b --gpu h100-sxm\n"
        "  ridge model qwen3-8b --phase decode --batch 32 --seq 4096 --gpu h200-sxm \\\n"
        "      --software serving\n"
        "  ridge model ./my-model --phase train --batch 4 --seq 2048 --gpu h100-sxm");
    return [command](const Context& context) { return run_model(context, *command); };
}

}  // namespace ridge::cli
