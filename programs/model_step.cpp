#include "programs/model_step.h"

#include <algorithm>
#include <string>

#include "hardware/error.h"
#include "programs/configs/weights.h"
#include "programs/software/model_run.h"
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
    if (request.expert_parallel > 1 && a.most("experts") == 0) {
        throw InputError("ep: " + a.name + " has no experts");
    }
    const std::int64_t positions = a.value("positions");
    if (positions > 0 && request.seq > positions) {
        throw InputError("seq is " + std::to_string(request.seq) + "; " + a.name + " has " +
                         std::to_string(positions) + " positions");
    }
    for (std::size_t kind = 0; kind < a.kinds.size(); ++kind) {
        const std::int64_t heads = a.value("heads", kind);
        const std::int64_t routed = a.value("experts", kind);
        if (heads % request.tensor_parallel != 0) {
            throw InputError("tp must divide the " + std::to_string(heads) + " heads");
        }
        if (routed % request.expert_parallel != 0) {
            throw InputError("ep must divide the " + std::to_string(routed) + " experts");
        }
    }
}

ModelStep make_step(const Architecture& architecture, const Request& request, bool memory) {
    validate(architecture, request);
    ModelRun run(architecture, request, memory);
    run.run();
    const Recorder& recorder = run.recorder();
    ModelStep step;
    step.program.name = architecture.name;
    step.program.entries.reserve(recorder.kernels().size());
    Request resolved = request;
    resolved.quantisation =
        format_of(architecture, request.quantisation, model::size_of(request.type)).quantisation;
    if (request.training()) resolved.quantisation = Quantisation::none;
    step.weight_format = std::string(name_of(resolved.quantisation));
    const bool stored = request.quantisation == Quantisation::stored && architecture.stored;
    if (stored) step.weight_format_source = architecture.stored->kind;
    for (const Recorder::Counted& counted : recorder.kernels()) {
        step.program.entries.push_back(entry_of(counted, recorder, resolved));
        add_split(step.program.entries);
    }
    if (memory) {
        step.memory = recorder.memory();
        step.purposes = recorder.purposes();
    }
    step.parameters = parameters_of(architecture);
    step.active_parameters = active_parameters_of(architecture);
    step.weights_bytes =
        stored_bytes(architecture, request.training() ? Quantisation::none : request.quantisation,
                     model::size_of(request.type));
    // The share of the weights that one GPU holds.
    if (run.weight_elements() < step.parameters) {
        const double share =
            static_cast<double>(run.weight_elements()) / static_cast<double>(step.parameters);
        step.weights_bytes =
            static_cast<std::int64_t>(share * static_cast<double>(step.weights_bytes));
    }
    if (!request.training()) {
        step.kv_cache_bytes =
            kv_cache_bytes(architecture, {.bytes = model::size_of(request.cache_type),
                                          .batch = request.batch,
                                          .tokens = request.seq,
                                          .tensor_parallel = request.tensor_parallel});
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

std::string_view name_of(Purpose purpose) {
    switch (purpose) {
        case Purpose::activation:
            return "activations and workspace";
        case Purpose::weight:
            return model_phase::weights;
        case Purpose::cache:
            return model_phase::cache;
        case Purpose::optimizer:
            return model_phase::optimizer;
        case Purpose::gradient:
            return "gradients";
        case Purpose::logits:
            return "logits and loss";
        case Purpose::gathered:
            return "gathered weights";
    }
    return "";
}

void add_parts(StepMemory& memory, const ModelStep& step) {
    const auto& allocations = step.memory.allocations();
    for (std::size_t i = 0; i < allocations.size(); ++i) {
        const model::MemoryPlan::Allocation& each = allocations[i];
        if (each.taken > memory.peak_step || each.given <= memory.peak_step) continue;
        const std::string_view name = name_of(step.purposes[i]);
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
    add_parts(memory, step);
    return memory;
}

}  // namespace ridge::programs
