// `ridge vram MODEL`: memory of a whole model: weights, cache, and what a step needs on top.
#include <memory>
#include <ostream>

#include "cli/commands/vram.h"
#include "cli/options/command_line.h"
#include "cli/options/model_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/memory.h"
#include "cli/views/model_step.h"

namespace ridge::cli {
namespace {

struct VramModel {
    explicit VramModel(CommandLine& line)
        : gpu(line), model(line, Lists::refused, {.phase = "decode", .software = "serving"}) {}

    GpuOptions gpu;
    ModelOptions model;
    std::string capacity;
    std::string format;
};

int vram_of_model(const Context& context, VramModel& options) {
    const Format format = parse_format(options.format);
    const programs::Architecture architecture = options.model.architecture();
    options.model.settle_length(architecture);
    const std::optional<MemoryLimit> limit = memory_limit(context, options.gpu, options.capacity);
    StepAnswer answer = answer_step(architecture, options.model.request(), {});
    if (limit) answer.usable = limit->usable;
    answer.usable_measured = usable_measured(limit);
    add_largest(answer);
    if (format == Format::json) {
        context.out << memory_json(answer).text(2) << '\n';
        return success;
    }
    context.out << title_of(answer) << " tokens, " << model::name_of(answer.request.type) << ", "
                << programs::name_of(answer.request.software) << "\n\n";
    write_memory(context, answer);
    if (limit) {
        context.out << '\n';
        write_sentence(context, "Compared with " + text_of(*limit) + ".");
    } else {
        context.out << '\n';
    }
    write_sentence(context, sentence_of(memory_evidence(answer)));
    return success;
}

}  // namespace

Action build_vram_model(CommandLine& line) {
    const auto options = std::make_shared<VramModel>(line);
    line.option("--capacity", options->capacity, "device memory, \"80GiB\", instead of --gpu")
        .value("SIZE");
    add_format_option(line, options->format, "table|json");
    line.footer(
        "Examples:\n"
        "  ridge vram qwen3-32b --seq 128Ki --gpu h200\n"
        "  ridge vram llama-3.1-8b --phase train --batch 4 --seq 2048 --gpu h100\n"
        "See also: ridge plan, which chooses the layout over several GPUs.");
    return [options](const Context& context) { return vram_of_model(context, *options); };
}

}  // namespace ridge::cli
