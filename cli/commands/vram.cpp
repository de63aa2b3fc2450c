#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/prediction.h"
#include "cli/views/table.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/footprint/footprint.h"
#include "model/footprint/sdpa.h"

namespace ridge::cli {
namespace {

struct VramOptions {
    VramOptions(CommandLine& line, std::span<const std::string> arguments)
        : gpu(line), operation(line, arguments) {}

    GpuOptions gpu;
    OperationArgument operation;
    std::string pass = "inference";
    std::string capacity;
    std::string backend;
    std::string format;
};

/// The question with its answer.
struct Need {
    std::string title;
    model::Operation operation;
    model::Pass pass = model::Pass::inference;
    model::Footprint footprint;
    std::optional<model::SdpaFootprint> sdpa;
    std::string backend;
    std::optional<Bytes> capacity;
    std::string device;
};

Need need_of(const Context& context, const VramOptions& options) {
    const model::Parameters parameters = options.operation.parameters();
    Need need;
    need.operation = model::make_operation(options.operation.kind(), parameters);
    need.pass = model::parse_pass(options.pass);
    need.title = text_of(options.operation.kind(), parameters) + ", " + options.pass;
    const model::Implementation implementation = model::make_execution(parameters).implementation;
    if (!model::has(options.operation.kind(), implementation)) {
        throw InputError(model::refusal(options.operation.kind(), implementation));
    }
    need.footprint = model::footprint(need.operation, implementation, need.pass);
    if (!options.backend.empty()) {
        const auto* attention = std::get_if<model::Attention>(&need.operation);
        if (attention == nullptr) throw InputError("backend: only attention has backends");
        const model::SdpaOutcome outcome =
            model::sdpa_footprint(*attention, model::parse_attention_backend(options.backend));
        if (const auto* unmodelled = std::get_if<model::NotModelled>(&outcome)) {
            throw InputError("backend: " + unmodelled->reason);
        }
        need.sdpa = std::get<model::SdpaFootprint>(outcome);
        need.backend = options.backend;
    }
    if (!options.capacity.empty()) {
        need.capacity = parse_quantity<Bytes>(options.capacity);
        if (*need.capacity <= Bytes{}) {
            throw InputError("capacity: '" + options.capacity + "' is not above zero");
        }
        need.device = "the given capacity";
    } else if (options.gpu.given()) {
        Machines machines = options.gpu.machines(context);
        const model::Machine& machine = machines.at(options.gpu.name());
        need.capacity = machine.dram_capacity;
        need.device = machine.title;
    }
    return need;
}

/// Decimal gigabytes as the literature prints them, smaller sizes in their own unit.
std::string decimal(Bytes bytes) {
    if (bytes < units::GB) return format_traffic(bytes, 4);
    return format_number(bytes.in(units::GB), 5) + " GB";
}

/// Decimal and binary, because sources use either.
std::string both(Bytes bytes) {
    return decimal(bytes) + " (" + format_capacity(bytes) + ")";
}

void write_parts(const Context& context, const Need& need) {
    Table table{
        .columns = {{"  tensor"}, {"phase"}, {"bytes", Align::right}, {"binary", Align::right}},
        .rows = {}};
    for (const model::Allocation& part : need.footprint.parts) {
        table.rows.push_back({"  " + std::string(part.name), std::string(name_of(part.phase)),
                              decimal(part.bytes), format_capacity(part.bytes)});
    }
    table.rows.push_back(
        {"  total", "", decimal(need.footprint.total()), format_capacity(need.footprint.total())});
    write_text(context.out, table);
}

void write_sentence(const Context& context, const std::string& sentence) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << "  " << wrap(sentence, width - 2, 2) << '\n';
}

void write_one_head_note(const Context& context, const Need& need) {
    const auto* attention = std::get_if<model::Attention>(&need.operation);
    if (attention == nullptr) return;
    const model::OneHeadFormula rule = model::one_head_formula(*attention);
    if (rule.factor <= 1.0) return;
    context.out << '\n';
    write_sentence(
        context, fmt::format("The common formula seq^2 x element size gives {}: one head of one "
                             "sample. It omits heads and batch; the score matrix of all {} is {}.",
                             both(rule.one_score_matrix), format_number(rule.factor, 6),
                             both(rule.all_score_matrices)));
}

void write_sdpa(const Context& context, const Need& need) {
    if (!need.sdpa) return;
    context.out << "\n  PyTorch scaled_dot_product_attention, backend " << need.backend
                << " (beside its inputs):\n";
    const model::SdpaFootprint& sdpa = *need.sdpa;
    for (const auto& [name, bytes] :
         {std::pair{"inference peak", sdpa.inference_peak},
          std::pair{"training forward peak", sdpa.training_forward_peak},
          std::pair{"saved for backward", sdpa.training_forward_saved},
          std::pair{"backward peak", sdpa.backward_peak}}) {
        context.out << fmt::format("    {:<22}  {:>15.0f} B  {:>10}\n", name, bytes.base(),
                                   format_capacity(bytes));
    }
}

void write_fit(const Context& context, const Need& need) {
    if (!need.capacity) return;
    const Bytes total = need.footprint.total();
    const bool fits = total <= *need.capacity;
    context.out << '\n';
    write_sentence(context,
                   fmt::format("{} into {} with {}: {} of it.", fits ? "Fits" : "Does not fit",
                               need.device, format_capacity(*need.capacity),
                               format_number(100.0 * (total / *need.capacity), 3) + " %"));
    write_sentence(context,
                   "Besides, a process holds its context (0.3 to 0.6 GB) and library workspaces, "
                   "and an allocator rounds up.");
}

Json json_of(const Need& need) {
    Json json{{"op", name_of(need.operation)}, {"pass", name_of(need.pass)}};
    json["total_bytes"] = need.footprint.total().base();
    Json parts = Json::array();
    for (const model::Allocation& part : need.footprint.parts) {
        parts.push_back(
            {{"name", part.name}, {"phase", name_of(part.phase)}, {"bytes", part.bytes.base()}});
    }
    json["parts"] = std::move(parts);
    if (const auto* attention = std::get_if<model::Attention>(&need.operation)) {
        const model::OneHeadFormula rule = model::one_head_formula(*attention);
        json["one_head_score_bytes"] = rule.one_score_matrix.base();
        json["all_head_score_bytes"] = rule.all_score_matrices.base();
    }
    if (need.sdpa) {
        json["backend"] = need.backend;
        json["sdpa_inference_peak_bytes"] = need.sdpa->inference_peak.base();
        json["sdpa_training_forward_peak_bytes"] = need.sdpa->training_forward_peak.base();
        json["sdpa_training_forward_saved_bytes"] = need.sdpa->training_forward_saved.base();
        json["sdpa_backward_peak_bytes"] = need.sdpa->backward_peak.base();
    }
    if (need.capacity) {
        json["capacity_bytes"] = need.capacity->base();
        json["fits"] = need.footprint.total() <= *need.capacity;
    }
    return json;
}

int vram(const Context& context, const VramOptions& options) {
    const Need need = need_of(context, options);
    if (options.format == "json") {
        context.out << json_of(need).text(2) << '\n';
        return success;
    }
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(need.title, width, 2) << '\n';
    write_parts(context, need);
    write_one_head_note(context, need);
    write_sdpa(context, need);
    write_fit(context, need);
    return success;
}

}  // namespace

Action build_vram(CommandLine& line, std::span<const std::string> arguments) {
    const auto options = std::make_shared<VramOptions>(line, arguments);
    line.option("--pass", options->pass, "inference or training (forward and backward)");
    line.option("--capacity", options->capacity, "device memory, \"80GiB\", instead of --gpu")
        .value("SIZE");
    line.option("--backend", options->backend,
                "also PyTorch's allocations: flash, efficient, cudnn or math");
    add_format_option(line, options->format, "table|json");
    line.footer(
        "Examples:\n"
        "  ridge vram attention --seq 131072 --heads 32 --head-dim 128 --dtype fp16 \\\n"
        "      --impl standard\n"
        "  ridge vram attention --seq 4096 --heads 32 --head-dim 128 --impl flash2 \\\n"
        "      --pass training --gpu h100-sxm");
    return [options](const Context& context) { return vram(context, *options); };
}

}  // namespace ridge::cli
