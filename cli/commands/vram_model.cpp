// `ridge vram MODEL`: memory of a whole model: weights, cache, and what a step needs on top; with
// lists, against the size that varies.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/charts/chart_output.h"
#include "cli/commands/memory_curves.h"
#include "cli/commands/vram.h"
#include "cli/options/command_line.h"
#include "cli/options/model_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/memory.h"
#include "cli/views/model_step.h"
#include "hardware/count.h"
#include "hardware/error.h"

namespace ridge::cli {
namespace {

struct VramModel {
    explicit VramModel(CommandLine& line)
        : gpu(line), model(line, {.phase = "decode", .software = "serving"}) {}

    GpuOptions gpu;
    ModelOptions model;
    std::string capacity;
    std::string format;
    ChartOutput chart;
};

StepAnswer memory_of(const programs::Architecture& architecture, const programs::Request& request,
                     const std::optional<MemoryLimit>& limit) {
    StepAnswer answer = answer_step(architecture, request, {});
    if (limit) answer.usable = limit->usable;
    answer.usable_measured = usable_measured(limit);
    return answer;
}

/// The listed option along which the memory is drawn: the last that is a size, else the length.
std::size_t size_among(const std::vector<std::string>& varying) {
    for (std::size_t i = varying.size(); i > 0; --i) {
        const std::string& name = varying[i - 1];
        if (name == "seq" || name == "batch" || name == "tp") return i - 1;
    }
    return varying.size();
}

/// The memory of every combination: the sizes along one option, a line for each choice of the rest.
MemoryCurves curves_of(const programs::Architecture& architecture, const ModelOptions& model,
                       const std::optional<MemoryLimit>& limit) {
    const std::vector<std::string> varying = model.varying();
    const std::size_t along = size_among(varying);
    MemoryCurves curves{.subtitle = "what the allocator holds at the peak of the step",
                        .size = along < varying.size() ? varying[along] : "seq",
                        .named = "of"};
    const std::vector<ModelOptions::Variant> variants = model.variants();
    curves.title =
        fmt::format("{}, {}", architecture.name, name_of(variants.front().request.phase));
    bool answered = false;
    for (const ModelOptions::Variant& each : variants) {
        std::string name;
        for (std::size_t i = 0; i < varying.size(); ++i) {
            if (i == along) continue;
            const bool number = varying[i] == "batch" || varying[i] == "tp";
            name += (name.empty() ? "" : ", ") + (number ? varying[i] + " " : "") + each.values[i];
        }
        if (name.empty()) name = architecture.name;
        const std::int64_t size =
            along < varying.size() ? parse_count(each.values[along], "size") : each.request.seq;
        if (std::count(curves.sizes.begin(), curves.sizes.end(), size) == 0) {
            curves.sizes.push_back(size);
        }
        auto line = std::find_if(curves.lines.begin(), curves.lines.end(),
                                 [&](const MemoryLine& known) { return known.name == name; });
        if (line == curves.lines.end()) {
            line = curves.lines.insert(line, {.name = name, .memory = {}, .evidence = {}});
        }
        try {
            const StepAnswer answer = memory_of(architecture, each.request, limit);
            line->memory.emplace_back(bytes_of(answer.memory.reserved));
            line->evidence = memory_evidence(answer);
            answered = true;
        } catch (const InputError& error) {  // a length beyond the model's positions
            line->memory.emplace_back(error.message());
            if (&each == &variants.back() && !answered) throw;
        }
    }
    return curves;
}

int vram_of_lists(const Context& context, const VramModel& options,
                  const programs::Architecture& architecture) {
    if (options.format == "json") {
        const auto limit = memory_limit(context, options.gpu, options.capacity);
        Json list = Json::array();
        for (const ModelOptions::Variant& each : options.model.variants()) {
            list.push_back(memory_json(memory_of(architecture, each.request, limit)));
        }
        context.out << list.text(2) << '\n';
        return success;
    }
    MemoryCurves curves = curves_of(architecture, options.model,
                                    memory_limit(context, options.gpu, options.capacity));
    curves.limits = memory_limits(context, options.gpu, options.capacity);
    write_curves(context, curves, options.format, options.chart);
    return success;
}

int vram_of_model(const Context& context, VramModel& options) {
    const programs::Architecture architecture = options.model.architecture();
    options.model.settle_length(architecture);
    const bool rows = options.format == "csv" || options.format == "md";
    if (rows || !options.model.varying().empty())
        return vram_of_lists(context, options, architecture);
    if (!options.chart.file.empty() || options.format == "chart") {
        throw InputError("output: a chart needs a size that varies", {}, "--seq 1Ki:128Ki:*2");
    }
    const Format format = parse_format(options.format);
    const std::optional<MemoryLimit> limit = memory_limit(context, options.gpu, options.capacity);
    StepAnswer answer = memory_of(architecture, options.model.request(), limit);
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
    add_format_option(line, options->format, "table|chart|json|csv|md");
    add_chart_options(line, options->chart);
    line.footer(
        "Examples:\n"
        "  ridge vram qwen3-32b --seq 128Ki --gpu h200\n"
        "  ridge vram llama-3.1-8b --phase train --batch 4 --seq 2048 --gpu h100\n"
        "  ridge vram llama-3.1-8b --seq 1Ki:128Ki:*2 --batch 1,16 --gpu h100 -o m.svg\n"
        "See also: ridge plan, which chooses the layout over several GPUs.");
    return [options](const Context& context) { return vram_of_model(context, *options); };
}

}  // namespace ridge::cli
