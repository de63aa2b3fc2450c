#include "programs/model_step.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hardware/error.h"
#include "model/collectives/beside.h"
#include "programs/configs/weights.h"
#include "programs/graph/costs.h"
#include "programs/replay/replay.h"
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
    sum.least = time_cost("least.sum_of_parts");
    entries.push_back(std::move(sum));
}

/// The program of a recorded step, and its launches in their order.
void add_entries(const Recorder& recorder, const Request& request, ModelStep& step) {
    step.program.entries.reserve(recorder.kernels().size());
    std::vector<StepLaunch> of_kernel;
    for (const Recorder::Counted& counted : recorder.kernels()) {
        const auto first = static_cast<std::int32_t>(step.program.entries.size());
        step.program.entries.push_back(entry_of(counted, recorder, request));
        add_split(step.program.entries);
        const auto end = static_cast<std::int32_t>(step.program.entries.size());
        of_kernel.push_back({.entry = first, .entries = end - first});
    }
    step.order.reserve(recorder.order().size());
    for (const Recorder::Ordered& launch : recorder.order()) {
        StepLaunch& made =
            step.order.emplace_back(of_kernel[static_cast<std::size_t>(launch.kernel)]);
        made.after = launch.after;
        made.layer = static_cast<std::int32_t>(launch.layer);
    }
}

/// Images, sound and further tokens, of models that have what they need.
void validate_inputs(const Architecture& a, const Request& request) {
    const auto refuse = [&](bool when, const std::string& what) {
        if (when) throw InputError(what);
    };
    refuse(a.value("causal") == 0 && request.phase == Phase::decode,
           "phase: " + a.name + " is an encoder, which does not decode");
    refuse(request.drafting && a.value("further") == 0,
           "mtp: " + a.name + " has no heads for further tokens");
    refuse(request.training() && (a.value("scored") > 0 || a.value("headless") > 0),
           "phase: training is described for language models; " + a.name + " has another head");
    if (request.images == 0 && request.audio == 0) return;
    refuse(request.training(), "image, audio: a training step reads text");
    check("images", std::max<std::int64_t>(1, request.images), 10000);
    check("image width", std::max<std::int64_t>(1, request.image_width), 100000);
    check("image height", std::max<std::int64_t>(1, request.image_height), 100000);
    check("audio", std::max<std::int64_t>(1, request.audio), 100000);
    const InputTokens tokens = input_tokens(a, request);
    refuse(request.images > 0 && tokens.of_image == 0,
           "image: " + a.name + " has no tower for images that ridge describes");
    refuse(request.audio > 0 && tokens.of_audio == 0,
           "audio: " + a.name + " has no audio encoder that ridge describes");
}

}  // namespace

InputTokens input_tokens(const Architecture& a, const Request& request) {
    if (request.images == 0 && request.audio == 0) return {};
    StepValues step;
    step[StepSymbol::tp] = 1;
    step[StepSymbol::ep] = 1;
    step[StepSymbol::images] = request.images;
    step[StepSymbol::image_width] = request.image_width;
    step[StepSymbol::image_height] = request.image_height;
    step[StepSymbol::audio] = request.audio;
    const auto symbols = symbols_of(a, step);
    const auto of = [&](std::string_view name) {
        const std::int32_t slot = a.rules->slot_of(name);
        return slot < 0 ? 0 : symbols.front()[static_cast<std::size_t>(slot)];
    };
    return {.of_image = request.images > 0 ? of("image_tokens") : 0,
            .of_audio = request.audio > 0 ? of("audio_tokens") : 0};
}

void check_inputs(const Architecture& a, const Request& request) {
    const InputTokens tokens = input_tokens(a, request);
    const std::int64_t all = request.images * tokens.of_image + tokens.of_audio;
    if (all <= request.seq) return;
    throw InputError("seq is " + std::to_string(request.seq) + "; images and audio are " +
                     std::to_string(all) + " tokens of it");
}

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
    validate_inputs(a, request);
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

namespace {

/// The formats of the weights that the step's products run in, which the answer names too.
Request resolve_formats(const Architecture& architecture, const Request& request, ModelStep& step) {
    Request resolved = request;
    resolved.quantisation =
        format_of(architecture, request.quantisation, model::size_of(request.type)).quantisation;
    resolved.expert_quantisation = format_of(architecture, request.quantisation,
                                             model::size_of(request.type), WeightRole::expert)
                                       .quantisation;
    if (request.training()) {
        resolved.quantisation = Quantisation::none;
        resolved.expert_quantisation = Quantisation::none;
    }
    step.weight_format = std::string(name_of(resolved.quantisation));
    if (resolved.expert_quantisation != resolved.quantisation && architecture.most("experts") > 0) {
        step.weight_format += ", experts " + std::string(name_of(*resolved.expert_quantisation));
    }
    const bool stored = request.quantisation == Quantisation::stored && architecture.stored;
    if (stored) step.weight_format_source = architecture.stored->kind;
    return resolved;
}

}  // namespace

ModelStep make_step(const Architecture& stated, const Request& request, bool memory) {
    validate(stated, request);
    const std::optional<Architecture> longer =
        request.drafting ? std::optional(stated.drafting()) : std::nullopt;
    const Architecture& architecture = longer ? *longer : stated;
    ModelRun run(architecture, request, memory);
    run.run();
    const Recorder& recorder = run.recorder();
    ModelStep step;
    step.program.name = architecture.name;
    const Request resolved = resolve_formats(architecture, request, step);
    add_entries(recorder, resolved, step);
    const bool spread = request.data_parallel > 1 || request.tensor_parallel > 1;
    if (spread && request.software != Software::serving) {
        step.wrapper = &wrapper_of(request);
        step.ranks = request.data_parallel * request.tensor_parallel * request.expert_parallel;
    }
    step.parameter_tensors = static_cast<std::int64_t>(recorder.parameters().size());
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
    step.inputs = input_tokens(architecture, request);
    step.images = request.phase == Phase::decode ? 0 : request.images;
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

/// The launches of a training step, with their times on GPU and host. (W19 to W21)
class StepReplay {
  public:
    StepReplay(const ModelStep& step, const StepTime& time, const model::Machine& machine,
               const Host& host)
        : step_(step), time_(time), machine_(machine), host_(host) {}

    [[nodiscard]] Replayed run() {
        const auto layers = static_cast<std::int32_t>(step_.layers);
        for (const StepLaunch& each : step_.order) {
            const Entry& entry = entry_at(each.entry);
            enter(entry.pass);
            const bool begins = each.layer != layer_ && each.layer >= 0 && each.layer < layers;
            if (begins && pass_ == Pass::forward) waiting_ += host_.per_layer();
            layer_ = each.layer;
            first_.push_back(static_cast<std::int32_t>(launches_.size()));
            const std::int32_t after =
                each.after < 0 ? -1 : last_of(static_cast<std::size_t>(each.after));
            for (std::int32_t i = 0; i < each.entries; ++i) add(each.entry + i, after);
        }
        return replay(launches_, {.gap = gap_of_stream()});
    }

  private:
    [[nodiscard]] const Entry& entry_at(std::int32_t index) const {
        return step_.program.entries[static_cast<std::size_t>(index)];
    }

    /// The last launch of a launch of the step.
    [[nodiscard]] std::int32_t last_of(std::size_t launch) const {
        const bool newest = launch + 1 == first_.size();
        return (newest ? static_cast<std::int32_t>(launches_.size()) : first_[launch + 1]) - 1;
    }

    /// What the host does at the start of a pass.
    void enter(Pass pass) {
        if (began_ && pass == pass_) return;
        began_ = true;
        pass_ = pass;
        const Wrapper* const wrapper = step_.wrapper;
        if (pass == Pass::forward && step_.called) waiting_ += host_.per_step();
        if (pass == Pass::forward && wrapper != nullptr) {
            waiting_ += wrapper->per_step * host_.launch;
        }
        if (pass == Pass::backward) waiting_ += host_.per_training_step();
        if (pass == Pass::update && wrapper != nullptr) {
            const auto tensors = static_cast<double>(step_.parameter_tensors);
            waiting_ += tensors * wrapper->per_parameter * host_.launch;
        }
    }

    [[nodiscard]] Time dispatched() const {
        switch (pass_) {
            case Pass::forward:
                return host_.per_kernel();
            case Pass::backward:
                return host_.per_gradient_kernel();
            case Pass::update:
                break;
        }
        return host_.per_update_kernel();
    }

    /// What a wrapper's Python takes around a collective.
    [[nodiscard]] Time around(const Entry& entry) const {
        const bool of_attention =
            step_.attention_wrapper != nullptr && entry.module == Module::attention;
        const Wrapper* const wrapper = of_attention ? step_.attention_wrapper : step_.wrapper;
        return wrapper == nullptr ? Time{} : wrapper->per_collective * host_.launch;
    }

    void add(std::int32_t index, std::int32_t after) {
        const Entry& entry = entry_at(index);
        const model::Outcome& outcome = time_.gpu.outcomes[static_cast<std::size_t>(index)];
        const auto parts = static_cast<double>(entry.kernels);
        LaneTask launch{.work = time_of(entry, outcome) / static_cast<double>(entry.count) / parts,
                        .host = dispatched(),
                        .after = after};
        const auto* const prediction = std::get_if<model::Prediction>(&outcome);
        const auto* const op = std::get_if<model::Collective>(&entry.operation);
        if (op != nullptr) launch.host += around(entry);
        if (entry.overlapped && op != nullptr) {
            launch.lane = Lane::communication;
            launch.taken = model::share_taken(*op, machine_);
        } else if (prediction != nullptr) {
            launch.stretch = model::stretch_beside(*prediction, machine_);
        }
        for (std::int64_t i = 0; i < entry.kernels; ++i) {
            launch.host += std::exchange(waiting_, Time{});
            launches_.push_back(launch);
            launch.host = dispatched();
            launch.after = -1;
        }
    }

    const ModelStep& step_;
    const StepTime& time_;
    const model::Machine& machine_;
    const Host& host_;
    std::vector<LaneTask> launches_{};
    std::vector<std::int32_t> first_{};  ///< of each launch of the step
    Time waiting_{};                     ///< of the host, before the next launch
    Pass pass_ = Pass::forward;
    bool began_ = false;
    std::int32_t layer_ = -1;
};

/// Whether collectives run in a stream of their own.
bool communicates_beside(const ModelStep& step) {
    return std::any_of(step.program.entries.begin(), step.program.entries.end(),
                       [](const Entry& entry) { return entry.overlapped; });
}

/// Collectives between the kernels, which nothing hides.
Time collectives_in_order(const ModelStep& step, const StepTime& time) {
    Time sum{};
    for (std::size_t i = 0; i < step.program.entries.size(); ++i) {
        const Entry& entry = step.program.entries[i];
        if (entry.overlapped || !std::holds_alternative<model::Collective>(entry.operation))
            continue;
        sum += time_of(entry, time.gpu.outcomes[i]);
    }
    return sum;
}

/// Passes one after another; in each, host and kernels work beside each other. (W5)
void add_passes(const ModelStep& step, const Host& host, StepTime& time) {
    for (const Pass pass : {Pass::forward, Pass::backward, Pass::update}) {
        std::int64_t kernels = 0;
        double collectives = 0.0;
        Time busy{};
        for (std::size_t i = 0; i < step.program.entries.size(); ++i) {
            const Entry& entry = step.program.entries[i];
            if (entry.pass != pass) continue;
            kernels += entry.count * entry.kernels;
            busy += time_of(entry, time.gpu.outcomes[i]);
            if (!std::holds_alternative<model::Collective>(entry.operation)) continue;
            collectives += static_cast<double>(entry.count);
        }
        if (kernels == 0) continue;
        const auto count = static_cast<double>(kernels);
        const Time start = time.host;
        time.host += dispatch(step, pass, count, host);
        if (step.wrapper != nullptr) {
            time.host += collectives * step.wrapper->per_collective * host.launch;
        }
        const Time executed = std::max(time.wall, start) + busy + count * gap_of_stream();
        time.wall = std::max(executed, time.host);
    }
    time.communication = collectives_in_order(step, time);
    time.exposed = time.communication;
}

}  // namespace

PassTime time_of_pass(const ModelStep& step, const StepTime& time, Pass pass, const Host& host,
                      const std::function<bool(const Entry&)>& counted) {
    std::int64_t kernels = 0;
    PassTime found;
    for (std::size_t i = 0; i < step.program.entries.size(); ++i) {
        const Entry& entry = step.program.entries[i];
        if (entry.pass != pass || !counted(entry)) continue;
        kernels += entry.count * entry.kernels;
        found.gpu += time_of(entry, time.gpu.outcomes[i]);
    }
    const auto count = static_cast<double>(kernels);
    found.gpu += count * gap_of_stream();
    found.host = count * (pass == Pass::forward ? host.per_kernel() : host.per_gradient_kernel());
    if (pass == Pass::forward) found.host += static_cast<double>(step.layers) * host.per_layer();
    return found;
}

Time graph_wall(Time busy, std::int64_t kernels, const Host& host) {
    return std::max(host.per_graph(kernels), busy + static_cast<double>(kernels) * gap_of_graph());
}

StepTime predict(const ModelStep& step, const model::Machine& machine, const Host& own) {
    const Host host = among(own, step.ranks);
    StepTime time;
    time.gpu = predict(step.program, machine);
    if (step.graph) {
        const std::int64_t kernels = step.program.kernels();
        time.host = host.per_graph(kernels);
        time.wall = graph_wall(time.gpu.total.time, kernels, host);
        return time;
    }
    if (step.order.empty() || !(communicates_beside(step) || step.attention_wrapper != nullptr)) {
        add_passes(step, host, time);
        return time;
    }
    const Replayed replayed = StepReplay(step, time, machine, host).run();
    time.host = replayed.host;
    time.wall = replayed.wall;
    const Time in_order = collectives_in_order(step, time);
    time.communication = replayed.communication + in_order;
    time.exposed = replayed.exposed + in_order;
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
