#include "programs/model_step.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "hardware/error.h"
#include "programs/configs/weights.h"
#include "programs/software/decoder.h"
#include "programs/software/operations.h"

namespace ridge::programs {
namespace {

void check(std::string_view field, std::int64_t value, std::int64_t most) {
    if (value >= 1 && value <= most) return;
    throw InputError(std::string(field) + " must be 1 to " + std::to_string(most));
}

/// Adds an entry for the kernel that sums the parts of a product whose k is split.
void add_split(std::vector<Entry>& entries) {
    Entry& entry = entries.back();
    const auto* product = std::get_if<model::Matmul>(&entry.operation);
    if (product == nullptr || entry.kernels != 2) return;
    entry.kernels = 1;
    Entry sum = entry;
    sum.operation = model::Copy{.elements = product->m * product->n, .type = product->output};
    sum.execution = {};
    sum.name += ": sum of the parts";
    sum.least = 1.8 * units::us;
    entries.push_back(std::move(sum));
}

}  // namespace

void validate(const Architecture& a, const Request& request) {
    check("batch", request.batch, most_batch);
    check("seq", request.seq, most_length);
    check("tp", request.tensor_parallel, 64);
    check("ep", request.expert_parallel, 1024);
    if (static_cast<double>(request.batch) * static_cast<double>(request.seq) > 1e10) {
        throw InputError("batch x seq must be at most 10^10 tokens");
    }
    check("gpus", request.data_parallel, 1024);
    const bool experts = std::any_of(a.kinds.begin(), a.kinds.end(), [](const LayerSpec& kind) {
        return kind.feed_forward.experts > 0;
    });
    if (request.expert_parallel > 1 && !experts)
        throw InputError("ep: " + a.name + " has no experts");
    if (a.positions > 0 && request.seq > a.positions) {
        throw InputError("seq is " + std::to_string(request.seq) + "; " + a.name + " has " +
                         std::to_string(a.positions) + " positions");
    }
    for (const LayerSpec& layer : a.kinds) {
        if (layer.attention.heads % request.tensor_parallel != 0) {
            throw InputError("tp must divide the " + std::to_string(layer.attention.heads) +
                             " heads");
        }
        if (layer.feed_forward.experts % request.expert_parallel != 0 &&
            layer.feed_forward.experts) {
            throw InputError("ep must divide the " + std::to_string(layer.feed_forward.experts) +
                             " experts");
        }
    }
}

ModelStep make_step(const Architecture& architecture, const Request& request, bool memory) {
    validate(architecture, request);
    Decoder decoder(architecture, request, memory);
    decoder.run();
    const Recorder& recorder = decoder.recorder();
    ModelStep step;
    step.program.name = architecture.name;
    step.program.entries.reserve(recorder.kernels().size());
    for (const Recorder::Counted& counted : recorder.kernels()) {
        step.program.entries.push_back(entry_of(counted, recorder, request));
        add_split(step.program.entries);
    }
    if (memory) step.memory = recorder.memory();
    step.parameters = parameters_of(architecture);
    step.active_parameters = active_parameters_of(architecture);
    step.weights_bytes = weights_bytes(architecture, {.bytes = model::size_of(request.type),
                                                      .quantisation = request.quantisation});
    // The share of the weights that one GPU holds.
    if (decoder.weight_elements() < step.parameters) {
        const double share =
            static_cast<double>(decoder.weight_elements()) / static_cast<double>(step.parameters);
        step.weights_bytes =
            static_cast<std::int64_t>(share * static_cast<double>(step.weights_bytes));
    }
    if (!request.training()) {
        step.kv_cache_bytes =
            kv_cache_bytes(architecture, {.bytes = model::size_of(request.cache_type),
                                          .batch = request.batch,
                                          .tokens = request.seq});
        const bool latent = architecture.kinds.front().attention.latent();
        if (!latent) step.kv_cache_bytes /= request.tensor_parallel;
    }
    step.tokens = request.batch * request.tokens();
    step.training = request.training();
    step.called = true;
    step.layers = request.software == Software::transformers ? architecture.layers() : 0;
    step.graph = request.software == Software::serving && !request.training();
    return step;
}

namespace {

/// Time that the host takes to dispatch `kernels` of a pass. (W5)
Time dispatch(const ModelStep& step, Pass pass, double kernels, const Host& host) {
    switch (pass) {
        case Pass::forward: {
            const Time python = step.called ? host.per_step() : Time{};
            return python + static_cast<double>(step.layers) * host.per_layer() +
                   kernels * host.per_kernel();
        }
        case Pass::backward:
            return host.per_training_step() + kernels * host.per_gradient_kernel();
        case Pass::update:
            break;
    }
    return kernels * host.per_update_kernel();
}

}  // namespace

Time graph_wall(Time busy, std::int64_t kernels, const Host& host) {
    return std::max(host.per_graph(kernels), busy + static_cast<double>(kernels) * gap_of_graph());
}

StepTime predict(const ModelStep& step, const model::Machine& machine, const Host& host) {
    StepTime time;
    time.gpu = predict(step.program, machine);
    if (step.graph) {
        const std::int64_t kernels = step.program.kernels();
        time.host = host.per_graph(kernels);
        time.wall = graph_wall(time.gpu.total.time, kernels, host);
        return time;
    }
    for (const Pass pass : {Pass::forward, Pass::backward, Pass::update}) {
        std::int64_t kernels = 0;
        Time busy{};
        Time beside{};
        for (std::size_t i = 0; i < step.program.entries.size(); ++i) {
            const Entry& entry = step.program.entries[i];
            if (entry.pass != pass) continue;
            kernels += entry.count * entry.kernels;
            (entry.overlapped ? beside : busy) += time_of(entry, time.gpu.outcomes[i]);
        }
        if (kernels == 0) continue;
        const auto count = static_cast<double>(kernels);
        const Time start = time.host;
        time.host += dispatch(step, pass, count, host);
        const Time executed =
            std::max(time.wall, start) + std::max(busy + count * gap_of_stream(), beside);
        time.wall = std::max(executed, time.host);
    }
    return time;
}

namespace {

/// The purpose of an allocation: given by the phase that made it, or else by its name.
std::string_view part_of(const model::MemoryPlan& plan,
                         const model::MemoryPlan::Allocation& allocation) {
    using namespace std::string_view_literals;
    if (allocation.name == "gradient buckets") return "gradients";
    for (const model::MemoryPlan::Phase& phase : plan.phases()) {
        const bool before = phase.name == model_phase::weights ||
                            phase.name == model_phase::cache ||
                            phase.name == model_phase::optimizer;
        if (before && allocation.taken >= phase.first && allocation.taken < phase.last) {
            return phase.name;
        }
    }
    const std::string_view name = allocation.name;
    const auto is_one_of = [name](std::initializer_list<std::string_view> names) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is_one_of({"keys"sv, "values"sv, "cache: keys"sv, "cache: values"sv})) return "cache";
    if (is_one_of({"lm_head"sv, "softcap"sv, "log-softmax"sv, "loss"sv, "gradient of the loss"sv,
                   "gradient of the picks"sv}) ||
        name.find("logits") != std::string_view::npos) {
        return "logits and loss";
    }
    if (name == "gathered weights") return name;
    if (name == "roots of the second moments") return model_phase::optimizer;
    return name.starts_with("gradient of") || name == "part of a gradient"
               ? "gradients"
               : "activations and workspace";
}

void add_parts(StepMemory& memory, const model::MemoryPlan& plan) {
    const auto& allocations = plan.allocations();
    for (std::size_t i = 0; i < allocations.size(); ++i) {
        const model::MemoryPlan::Allocation& each = allocations[i];
        if (each.taken > memory.peak_step || each.given <= memory.peak_step) continue;
        const std::string_view name = part_of(plan, each);
        auto part =
            std::find_if(memory.parts.begin(), memory.parts.end(),
                         [name](const StepMemory::Part& known) { return known.name == name; });
        if (part == memory.parts.end()) part = memory.parts.insert(part, {.name = name});
        part->bytes += memory.timeline.blocks[i];
    }
}

}  // namespace

StepMemory memory_of(const ModelStep& step) {
    StepMemory memory;
    memory.timeline = model::replay(step.memory);
    std::size_t start = 0;
    for (const model::MemoryPlan::Phase& phase : step.memory.phases()) {
        if (phase.name == model_phase::forward) start = phase.first;
    }
    const auto& levels = memory.timeline.levels;
    if (start > 0) memory.resident = levels[start - 1].allocated;
    for (std::size_t i = start; i < levels.size(); ++i) {
        if (levels[i].allocated <= memory.peak) continue;
        memory.peak = levels[i].allocated;
        memory.peak_step = i;
    }
    for (const model::MemoryLevel& level : levels) {
        memory.reserved = std::max(memory.reserved, level.reserved);
    }
    add_parts(memory, step.memory);
    return memory;
}

}  // namespace ridge::programs
