// `ridge vram`: device memory of an operation. Attention and the key and value cache have commands
// of their own.
#include "cli/commands/vram.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/operation_command.h"
#include "cli/views/memory.h"
#include "cli/views/prediction.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/footprint/footprint.h"
#include "model/footprint/memory_fit.h"
#include "programs/configs/presets.h"

namespace ridge::cli {
namespace {

struct VramOptions {
    VramOptions(CommandLine& line, std::span<const std::string> arguments)
        : gpu(line), operation(line, arguments) {}

    GpuOptions gpu;
    OperationArgument operation;
    std::string pass = "inference";
    std::string capacity;
    std::string format;
};

/// The question with its answer.
struct Need {
    std::string title;
    model::Operation operation;
    model::Pass pass = model::Pass::inference;
    model::Footprint footprint;
    std::optional<MemoryLimit> limit;
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
    need.limit = memory_limit(context, options.gpu, options.capacity);
    return need;
}

void write_parts(const Context& context, const Need& need) {
    Table table{
        .columns = {{"  tensor"}, {"phase"}, {"bytes", Align::right}, {"binary", Align::right}},
        .rows = {}};
    for (const model::Allocation& part : need.footprint.parts) {
        table.rows.push_back({"  " + std::string(part.name), std::string(name_of(part.phase)),
                              decimal_bytes(part.bytes), format_capacity(part.bytes)});
    }
    const Bytes total = need.footprint.total();
    table.rows.push_back({"  total", "", decimal_bytes(total), format_capacity(total)});
    write_text(context.out, table);
}

void write_fit(const Context& context, const Need& need) {
    if (!need.limit) return;
    const Bytes total = need.footprint.total();
    context.out << '\n';
    write_sentence(
        context, fmt::format("{} into {}: {} {} of it.",
                             total <= need.limit->usable ? "Fits" : "Does not fit",
                             text_of(*need.limit), total <= need.limit->usable ? "takes" : "needs",
                             format_number(100.0 * (total / need.limit->usable), 3) + " %"));
    write_sentence(context,
                   "On top of this, libraries hold workspaces and the allocator rounds sizes up.");
}

MemoryEvidence evidence_of_need(const Need& need) {
    return {.usable_measured = usable_measured(need.limit)};
}

/// One row per tensor, and the total.
Table exact_table(const Need& need) {
    Table table{.columns = {{"tensor"}, {"phase"}, {"bytes", Align::right}, {"evidence"}},
                .rows = {}};
    const std::string evidence(name_of(evidence_of_need(need).grade()));
    for (const model::Allocation& part : need.footprint.parts) {
        table.rows.push_back({std::string(part.name), std::string(name_of(part.phase)),
                              fmt::format("{:.0f}", part.bytes.base()), evidence});
    }
    table.rows.push_back(
        {"total", "", fmt::format("{:.0f}", need.footprint.total().base()), evidence});
    return table;
}

Json json_of(const Need& need) {
    Json json{{"op", name_of(need.operation)}, {"pass", name_of(need.pass)}};
    json["total_bytes"] = need.footprint.total().base();
    json["evidence"] = to_json(evidence_of_need(need));
    Json parts = Json::array();
    for (const model::Allocation& part : need.footprint.parts) {
        parts.push_back(
            {{"name", part.name}, {"phase", name_of(part.phase)}, {"bytes", part.bytes.base()}});
    }
    json["parts"] = std::move(parts);
    if (need.limit) {
        json["capacity_bytes"] = need.limit->capacity.base();
        json["usable_bytes"] = need.limit->usable.base();
        json["fits"] = need.footprint.total() <= need.limit->usable;
    }
    return json;
}

int vram(const Context& context, const VramOptions& options) {
    const Need need = need_of(context, options);
    if (options.format == "json") {
        write_document(context.out, "memory", json_of(need));
        return success;
    }
    if (options.format == "csv" || options.format == "md") {
        options.format == "csv" ? write_csv(context.out, exact_table(need))
                                : write_markdown(context.out, exact_table(need));
        return success;
    }
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(need.title, width, 2) << '\n';
    write_parts(context, need);
    write_fit(context, need);
    if (!need.limit) context.out << '\n';
    write_sentence(context, sentence_of(evidence_of_need(need)));
    return success;
}

}  // namespace

std::optional<MemoryLimit> memory_limit(const Context& context, const GpuOptions& gpu,
                                        const std::string& capacity) {
    if (!capacity.empty()) {
        const Bytes given = bytes_of(parse_count(capacity, "capacity", CountUnit::bytes));
        if (given <= Bytes{}) throw InputError("capacity: '" + capacity + "' is not above zero");
        return MemoryLimit{
            .name = "the given capacity", .label = "capacity", .capacity = given, .usable = given};
    }
    if (!gpu.known()) return {};
    Machines machines = gpu.machines(context);
    return memory_limit_of(machines, gpu.name());
}

MemoryLimit memory_limit_of(Machines& machines, const std::string& name) {
    const model::Machine& machine = machines.at(name);
    const model::UsableMemory usable = model::usable_memory(machines.description(machine.name));
    return MemoryLimit{.name = machine.title,
                       .label = machine.name,
                       .capacity = machine.dram_capacity,
                       .usable = bytes_of(usable.bytes),
                       .measured = usable.measured,
                       .multiprocessors = machine.sm_count,
                       .compute_capability = machine.compute_capability};
}

std::vector<MemoryLimit> memory_limits(const Context& context, const GpuOptions& gpu,
                                       const std::string& capacity) {
    if (!capacity.empty()) return {*memory_limit(context, gpu, capacity)};
    const std::vector<std::string> names =
        gpu.given() ? gpu.names() : std::vector<std::string>{"rtx-4090", "h100-sxm", "h200-sxm"};
    Machines machines = gpu.machines(context);
    std::vector<MemoryLimit> limits;
    limits.reserve(names.size());
    for (const std::string& name : names) limits.push_back(memory_limit_of(machines, name));
    return limits;
}

MemoryEvidence attention_evidence(std::string_view implementation,
                                  const std::optional<MemoryLimit>& limit) {
    const bool compared = implementation.rfind("torch-", 0) == 0;
    return {.bytes = compared ? BytesEvidence::compared : BytesEvidence::counted,
            .usable_measured = usable_measured(limit)};
}

std::optional<bool> usable_measured(const std::optional<MemoryLimit>& limit) {
    if (!limit || limit->multiprocessors == 0) return std::nullopt;
    return limit->measured;
}

std::string text_of(const MemoryLimit& limit) {
    if (limit.multiprocessors == 0 && !limit.measured && limit.capacity == limit.usable) {
        return limit.name + " of " + format_capacity(limit.capacity);
    }
    return fmt::format("{} of {} ({})", format_capacity(limit.usable), limit.name,
                       limit.measured ? "usable, as measured" : "usable, by estimate");
}

Action build_vram(CommandLine& line, std::span<const std::string> arguments) {
    const std::string first = arguments.empty() ? "" : arguments.front();
    if (first == "kv-cache") return build_vram_kv_cache(line);
    if (first == "attention") return build_vram_attention(line, arguments);
    if (!model::find_operation_kind(first) && programs::is_model(first)) {
        return build_vram_model(line);
    }
    const auto options = std::make_shared<VramOptions>(line, arguments);
    line.option("--pass", options->pass, "inference or training (forward and backward)")
        .one_of({"inference", "training"});
    line.option("--capacity", options->capacity, "device memory, \"80GiB\", instead of --gpu")
        .value("SIZE");
    add_format_option(line, options->format, "table|json|csv|md");
    line.footer(
        "Examples:\n"
        "  ridge vram softmax --rows 65536 --cols 4096 --pass training --gpu h100-sxm\n"
        "  ridge vram attention --seq 4096 --heads 32 --head-dim 128 --impl torch-flash\n"
        "  ridge vram kv-cache --kind gqa --layers 32 --kv-heads 8 --head-dim 128\n"
        "  ridge vram qwen3-32b --seq 128Ki --gpu h200\n"
        "See also `ridge vram attention --help` and `ridge vram kv-cache --help`.");
    return [options](const Context& context) { return vram(context, *options); };
}

}  // namespace ridge::cli
