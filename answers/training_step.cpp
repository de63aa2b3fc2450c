#include "answers/training_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "answers/candidate.h"
#include "answers/pipeline.h"
#include "hardware/error.h"
#include "programs/software/wrapper.h"
#include "programs/utilisation.h"

namespace ridge::answers {
namespace {

using programs::Architecture;
using programs::Entry;
using programs::Host;
using programs::Pass;
using programs::Request;
using programs::StageTimes;

/// Whether a stage runs an entry of a step of its layers.
struct StagePlace {
    bool first = true;
    bool last = true;
    std::int64_t layers = 0;

    [[nodiscard]] bool runs(const Entry& entry) const {
        if (!first && entry.module == programs::Module::embedding) return false;
        return last || entry.first_layer < layers;
    }
    friend bool operator==(const StagePlace&, const StagePlace&) = default;
};

/// Processes that wait for each other; copies count the GPUs that share a sequence.
std::int64_t ranks_of(const Request& request, const TrainingShape& shape) {
    return request.data_parallel * request.tensor_parallel * request.expert_parallel *
           shape.pipeline;
}

/// One micro-batch of a request, with its share of each sequence, among `ranks` processes.
programs::ModelStep micro_step(const Architecture& architecture, Request request,
                               const TrainingShape& shape, std::int64_t seq, std::int64_t ranks) {
    request.seq = seq / shape.context;
    programs::ModelStep step = make_step(architecture, request, false);
    step.ranks = ranks;
    if (shape.context > 1) share_sequence(step, shape.context, seq);
    return step;
}

class PipelineStep {
  public:
    PipelineStep(const Architecture& architecture, const Request& request,
                 const TrainingShape& shape, const model::Machine& machine, const Host& host)
        : architecture_(architecture),
          request_(request),
          shape_(shape),
          machine_(machine),
          host_(host) {}

    void run(TrainingStep& answer) {
        const std::int64_t stages = shape_.pipeline * shape_.parts;
        const std::int64_t layers = architecture_.layers();
        if (stages > layers) {
            throw InputError("pp: " + architecture_.name + " has " + std::to_string(layers) +
                             " layers, which " + std::to_string(stages) + " stages cannot share");
        }
        const auto sent =
            handover(machine_, handover_bytes(architecture_, tokens(), request_.type));
        if (!sent) {
            answer.reason = "sending to the next stage is not modelled";
            return;
        }
        std::vector<StageTimes> times;
        for (std::int64_t i = 0; i < stages; ++i) times.push_back(stage(i, stages, answer));
        answer.pipeline = run_pipeline(times, {.ranks = shape_.pipeline,
                                               .micro_batches = shape_.micro_batches,
                                               .schedule = shape_.schedule,
                                               .parts = shape_.parts,
                                               .send = sent->time});
        const auto sends = static_cast<double>(2 * shape_.micro_batches * shape_.parts);
        answer.communication = sends * sent->time;
        answer.host = *std::max_element(answer.pipeline->host.begin(), answer.pipeline->host.end());
        finish(answer);
    }

  private:
    [[nodiscard]] std::int64_t tokens() const {
        return request_.batch * request_.seq / shape_.context;
    }
    [[nodiscard]] std::int64_t bound(std::int64_t i, std::int64_t stages) const {
        return (2 * i * architecture_.layers() + stages) / (2 * stages);  // rounded
    }

    /// Passes of one micro-batch through one stage. Stages with equal layers are predicted once.
    StageTimes stage(std::int64_t i, std::int64_t stages, TrainingStep& answer) {
        const std::int64_t from = bound(i, stages);
        const std::int64_t to = bound(i + 1, stages);
        const StagePlace place{.first = i == 0, .last = i + 1 == stages, .layers = to - from};
        const Architecture part = layers_between(architecture_, from, to);
        auto known = std::find_if(known_.begin(), known_.end(), [&](const KnownStage& each) {
            return each.place == place && each.kinds == part.layer_kinds;
        });
        if (known == known_.end()) {
            known = known_.insert(
                known_.end(),
                {.place = place, .kinds = part.layer_kinds, .times = times_of(part, place)});
        }
        answer.at_peak += known->times.at_peak;
        return known->times.passes;
    }

    struct KnownTimes {
        StageTimes passes{};
        Time at_peak{};  ///< products at their peaks (W10)
    };

    [[nodiscard]] KnownTimes times_of(const Architecture& part, const StagePlace& place) const {
        Request own = request_;
        own.optimizer = programs::Optimizer::none;
        own.data_parallel = 1;
        own.zero = 0;
        const programs::ModelStep step =
            micro_step(part, own, shape_, request_.seq, ranks_of(request_, shape_));
        const programs::StepTime time = predict(step, machine_, host_);
        const auto counted = [&place](const Entry& entry) { return place.runs(entry); };
        const Host host = programs::among(host_, step.ranks);
        const programs::PassTime forward = time_of_pass(step, time, Pass::forward, host, counted);
        const programs::PassTime backward = time_of_pass(step, time, Pass::backward, host, counted);
        const bool split = shape_.schedule == programs::Schedule::zero_bubble;
        const programs::Wrapper& wrapper =
            programs::find_wrapper(split ? "zero-bubble" : "pipeline");
        const Time around = wrapper.per_collective * host.launch;
        StageTimes found{.forward = {.gpu = forward.gpu, .host = forward.host + around},
                         .backward = {.gpu = backward.gpu, .host = backward.host + around}};
        if (split) {
            const double share = weight_share(step, time, counted);
            found.weights = {.gpu = share * found.backward.gpu,
                             .host = share * found.backward.host};
        }
        return {.passes = found, .at_peak = programs::time_at_peak(step, time, counted)};
    }

    /// The part of a backward pass that makes the gradients of weights: half of its products.
    template <typename Counted>
    static double weight_share(const programs::ModelStep& step, const programs::StepTime& time,
                               const Counted& counted) {
        Time products{};
        Time all{};
        for (std::size_t i = 0; i < step.program.entries.size(); ++i) {
            const Entry& entry = step.program.entries[i];
            if (entry.pass != Pass::backward || !counted(entry)) continue;
            const Time each = time_of(entry, time.gpu.outcomes[i]);
            all += each;
            if (std::holds_alternative<model::Matmul>(entry.operation)) products += each;
        }
        return all > Time{} ? 0.5 * (products / all) : 0.0;
    }

    /// The update and what is not hidden of the reductions over copies: those of the last stage.
    void finish(TrainingStep& answer) const {
        Request own = request_;
        own.optimizer = programs::Optimizer::none;
        own.data_parallel = 1;
        own.zero = 0;
        const std::int64_t stages = shape_.pipeline * shape_.parts;
        const Architecture last =
            layers_between(architecture_, bound(stages - 1, stages), architecture_.layers());
        const programs::StepTime alone =
            predict(micro_step(last, own, shape_, request_.seq, ranks_of(request_, shape_)),
                    machine_, host_);
        const Time tail = std::max(Time{}, answer.time.wall - alone.wall);
        const Time wall = answer.pipeline->time + tail;
        const Spread one = spread_of(answer.time);
        answer.wall = (wall / one.time) * one;
        answer.wall->time = wall;
        answer.communication += answer.time.communication;
        answer.exposed += answer.time.exposed;
    }

    const Architecture& architecture_;
    const Request& request_;
    const TrainingShape& shape_;
    const model::Machine& machine_;
    const Host& host_;

    struct KnownStage {
        StagePlace place{};
        std::vector<std::uint8_t> kinds{};
        KnownTimes times{};
    };
    std::vector<KnownStage> known_{};
};

}  // namespace

programs::Architecture layers_between(const programs::Architecture& architecture, std::int64_t from,
                                      std::int64_t to) {
    programs::Architecture part = architecture;
    using Offset = std::vector<std::uint8_t>::difference_type;
    const auto first = architecture.layer_kinds.begin();
    part.layer_kinds.assign(first + static_cast<Offset>(from), first + static_cast<Offset>(to));
    return part;
}

TrainingStep training_step(const programs::Architecture& architecture, programs::Request request,
                           const TrainingShape& shape, const model::Machine& machine,
                           const programs::Host& host) {
    const Architecture part =
        shape.pipeline > 1 ? stage_of(architecture, shape.pipeline) : architecture;
    TrainingStep answer;
    answer.step = make_step(part, [&] {
        Request own = request;
        own.seq = request.seq / shape.context;
        return own;
    }());
    answer.step.ranks = ranks_of(request, shape);
    if (shape.context > 1) {
        if (const auto why = cannot_share(answer.step.program)) {
            answer.reason = *why;
            return answer;
        }
        share_sequence(answer.step, shape.context, request.seq);
    }
    answer.time = predict(answer.step, machine, host);
    if (const auto why = first_not_modelled(answer.step.program, answer.time.gpu)) {
        answer.reason = *why;
        return answer;
    }
    if (shape.pipeline > 1) {
        PipelineStep(architecture, request, shape, machine, host).run(answer);
        return answer;
    }
    answer.wall = spread_of(answer.time);
    answer.host = answer.time.host;
    answer.communication = answer.time.communication;
    answer.exposed = answer.time.exposed;
    if (shape.micro_batches > 1) {
        const auto more = static_cast<double>(shape.micro_batches - 1);
        request.optimizer = programs::Optimizer::none;
        const programs::StepTime turn =
            predict(micro_step(architecture, request, shape, request.seq, answer.step.ranks),
                    machine, host);
        answer.wall = *answer.wall + more * spread_of(turn);
        answer.host += more * turn.host;
        answer.communication += more * turn.communication;
        answer.exposed += more * turn.exposed;
    }
    return answer;
}

namespace {

/// What one rank of a pipeline holds, by its number of layers.
struct LayerMemory {
    double resident = 0.0;  ///< weights and states of a layer
    double weights = 0.0;
    double kept = 0.0;  ///< from the forward to the backward pass of a micro-batch
};

/// Allocated when the backward pass begins, over what was resident.
double kept_of(const programs::ModelStep& step, const programs::StepMemory& memory) {
    for (const model::MemoryPlan::Phase& phase : step.memory.phases()) {
        if (phase.name != programs::model_phase::backward || phase.first == 0) continue;
        const auto level = memory.timeline.levels[phase.first - 1].allocated;
        return static_cast<double>(level - memory.resident);
    }
    return 0.0;
}

}  // namespace

std::vector<std::int64_t> memory_of_ranks(const programs::Architecture& architecture,
                                          programs::Request request, const TrainingShape& shape,
                                          const programs::PipelineRun& run) {
    request.seq /= shape.context;
    const std::int64_t stages = shape.pipeline * shape.parts;
    const std::int64_t layers = std::max<std::int64_t>(1, architecture.layers() / stages);
    // A layer is what a stage with one more layer needs more.
    const auto few = make_step(layers_between(architecture, 0, layers), request);
    const auto more = make_step(
        layers_between(architecture, 0, std::min(layers + 1, architecture.layers())), request);
    const programs::StepMemory few_memory = memory_of(few);
    const programs::StepMemory more_memory = memory_of(more);
    const LayerMemory layer{
        .resident = static_cast<double>(more_memory.resident - few_memory.resident),
        .weights = static_cast<double>(more.weights_bytes - few.weights_bytes),
        .kept = kept_of(more, more_memory) - kept_of(few, few_memory)};
    const auto own = static_cast<double>(layers);
    // Embedding or head, with its states; the last stage also has the logits and the loss.
    const double outside = (static_cast<double>(few_memory.resident) - own * layer.resident) *
                           (architecture.value("tied") != 0 ? 1.0 : 0.5);
    const double ends = static_cast<double>(few_memory.extra()) - own * layer.kept;
    const double ends_kept = kept_of(few, few_memory) - own * layer.kept;
    // The schedule returns the logits of all micro-batches.
    const auto logits =
        static_cast<double>(request.batch * request.seq * architecture.value("vocabulary") *
                            static_cast<std::int64_t>(model::size_of(request.type)));
    std::vector<std::int64_t> needs;
    for (std::int64_t rank = 0; rank < shape.pipeline; ++rank) {
        const double count =
            static_cast<double>(architecture.layers()) / static_cast<double>(shape.pipeline);
        const auto held = static_cast<double>(run.in_flight[static_cast<std::size_t>(rank)]);
        const bool first = rank == 0;
        const bool last = rank + 1 == shape.pipeline;
        double need = count * (layer.resident + layer.weights) + held * own * layer.kept;
        if (first || last) need += outside * (1.0 + layer.weights / layer.resident);
        if (last) {
            need += ends - (layer.weights / layer.resident) * outside;
            need += (held - 1.0) * ends_kept + static_cast<double>(shape.micro_batches) * logits;
        }
        needs.push_back(static_cast<std::int64_t>(need));
    }
    return needs;
}

}  // namespace ridge::answers
