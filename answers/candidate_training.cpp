// Training steps of a layout: the whole model, or adapters on frozen weights.
#include <algorithm>
#include <utility>

#include "answers/candidate.h"
#include "answers/pipeline.h"
#include "answers/training_step.h"
#include "model/predict.h"
#include "programs/configs/weights.h"
#include "programs/software/recorder.h"

namespace ridge::answers {
namespace {

programs::Request request_of(const PlanQuestion& question, const Place& place,
                             const Layout& layout) {
    programs::Request request;
    request.phase = programs::Phase::train;
    request.software = question.software;
    request.batch = layout.micro_batch;
    request.seq = question.seq;
    request.type = question.type;
    request.cache_type = question.type;
    request.logits = programs::Logits::all;
    request.quantisation = programs::Quantisation::none;
    request.mixed = question.mixed;
    request.checkpoint = layout.checkpoint;
    request.tensor_parallel = layout.tensor_parallel;
    request.zero = layout.zero;
    request.data_parallel = layout.copies * layout.context_parallel;
    if (place.machine->sm_count > 0) request.multiprocessors = place.machine->sm_count;
    return request;
}

TrainingShape shape_of(const Layout& layout) {
    return {.pipeline = layout.pipeline,
            .context = layout.context_parallel,
            .micro_batches = layout.accumulation};
}

/// Bytes of optimizer states kept in one byte each, with a scale in fp32 for every 256.
std::int64_t eight_bit(std::int64_t bytes, std::int64_t element) {
    const std::int64_t elements = bytes / element;
    return elements + elements / 256 * 4;
}

void set_rate(PlanRow& row, const PlanQuestion& question) {
    const double tokens = static_cast<double>(row.batch) * static_cast<double>(question.seq);
    row.tokens_per_s = tokens / row.pace->time.in(units::s);
}

/// What is allocated at most during the step, without what stays until its end: the gradients of
/// the weights.
std::int64_t peak_without_gradients(const programs::ModelStep& made) {
    const model::MemoryPlan& plan = made.memory;
    std::size_t forward = 0;
    std::size_t end = plan.steps().size();
    for (const model::MemoryPlan::Phase& phase : plan.phases()) {
        if (phase.name == programs::model_phase::forward) forward = phase.first;
        if (phase.name == programs::model_phase::backward) end = phase.last;
    }
    std::int64_t level = 0;
    std::int64_t peak = 0;
    for (std::size_t at = 0; at < end; ++at) {
        const model::MemoryPlan::Step& step = plan.steps()[at];
        const model::MemoryPlan::Allocation& each = plan.allocations()[step.allocation];
        const bool gradient = made.purposes[step.allocation] == programs::Purpose::gradient;
        if (gradient && each.taken >= forward && each.given >= end) continue;
        level += step.takes ? each.bytes : -each.bytes;
        if (at >= forward) peak = std::max(peak, level);
    }
    return peak;
}

/// What a micro-batch holds at most beside weights, their gradients and optimizer states.
std::int64_t activations_of(const programs::ModelStep& made) {
    return peak_without_gradients(made) - memory_of(made).resident;
}

/// The products to which adapters are added, with their number: those of attention and mlp.
struct Adapted {
    std::int64_t parameters = 0;
    std::int64_t matrices = 0;
    std::vector<programs::Weight> products{};
};
Adapted adapted(const programs::Architecture& architecture, std::int64_t rank) {
    Adapted result;
    for (programs::Weight& weight : weights_of(architecture)) {
        if (weight.role != programs::WeightRole::product) continue;
        result.parameters += rank * (weight.rows + weight.columns) * weight.count;
        result.matrices += weight.count;
        result.products.push_back(weight);
    }
    return result;
}

/// Time of the adapters' own products: two in the forward pass, four in the backward pass.
Time adapter_time(const Adapted& adapters, const PlanQuestion& question, std::int64_t tokens,
                  const model::Machine& machine) {
    Time sum{};
    for (const programs::Weight& weight : adapters.products) {
        const model::Matmul down{.m = tokens, .n = question.lora_rank, .k = weight.columns};
        const model::Matmul up{.m = tokens, .n = weight.rows, .k = question.lora_rank};
        for (const model::Matmul& each : {down, up}) {
            const model::Outcome outcome = predict(each, {}, machine);
            const auto* one = std::get_if<model::Prediction>(&outcome);
            if (one == nullptr) continue;
            sum += 3.0 * static_cast<double>(weight.count) * one->time;
        }
    }
    return sum;
}

/// Frozen weights need no gradient: of the two products in the backward pass of each product, the
/// one for the weight is not run.
Time time_of_weight_gradients(const programs::ModelStep& step, const programs::StepTime& time) {
    Time products{};
    for (std::size_t i = 0; i < step.program.entries.size(); ++i) {
        const programs::Entry& entry = step.program.entries[i];
        if (entry.pass != programs::Pass::backward) continue;
        if (!std::holds_alternative<model::Matmul>(entry.operation)) continue;
        products += time_of(entry, time.gpu.outcomes[i]);
    }
    return 0.5 * products;
}

/// Quantised weights are written out in bf16 before each product, forward and backward.
Time dequantising(const Adapted& adapters, const model::Machine& machine) {
    Time sum{};
    for (const programs::Weight& weight : adapters.products) {
        const model::Outcome outcome =
            predict(model::Copy{.elements = weight.elements()}, {}, machine);
        const auto* one = std::get_if<model::Prediction>(&outcome);
        if (one != nullptr) sum += 2.0 * static_cast<double>(weight.count) * one->time;
    }
    return sum;
}

/// Memory of the stage of a pipeline that needs most: the last, which has the head and one
/// micro-batch, or the first, which keeps one for every stage. (W17)
MemoryNeed training_memory(const programs::Architecture& architecture, const PlanQuestion& question,
                           const Layout& layout, const programs::Request& request,
                           const programs::ModelStep& step) {
    MemoryNeed need = need_of(memory_of(step));
    // Keys and values are activations here.
    need.activations += std::exchange(need.cache, 0);
    need.activations += gathered_bytes(step.program);
    if (layout.pipeline > 1) {
        const programs::Architecture stage = stage_of(architecture, layout.pipeline);
        const double held = without_embedding(stage, layout.pipeline);
        for (std::int64_t* const part : {&need.weights, &need.optimizer}) {
            *part = static_cast<std::int64_t>(static_cast<double>(*part) * held);
        }
        // Gradients stay from one micro-batch to the next, beside the activations.
        need.gradients = need.weights;
        const programs::Architecture longer =
            stage_of(architecture, std::max<std::int64_t>(1, layout.pipeline / 2));
        const std::int64_t last = activations_of(step);
        const std::int64_t more = activations_of(make_step(longer, request)) - last;
        const std::int64_t kept = more * stage.layers() / (longer.layers() - stage.layers());
        need.activations = std::max(last, layout.pipeline * kept) + gathered_bytes(step.program);
    }
    if (question.optimizer == Optimizer::adamw8bit) {
        const std::int64_t element =
            question.mixed ? 4 : static_cast<std::int64_t>(model::size_of(request.type));
        need.optimizer = eight_bit(need.optimizer, element);
    }
    return need;
}

MemoryNeed adapter_memory(const programs::Architecture& architecture, const PlanQuestion& question,
                          const Layout& layout, const programs::ModelStep& step,
                          const Adapted& adapters) {
    const std::int64_t own = need_of(memory_of(step)).weights;
    const bool wide = question.optimizer == Optimizer::adamw;
    MemoryNeed need;
    need.weights = question.purpose == Purpose::qlora
                       ? programs::stored_bytes(architecture, programs::Quantisation::int4, 2)
                       : own;
    need.weights += 4 * adapters.parameters;
    need.gradients = 4 * adapters.parameters;
    need.optimizer = wide ? 8 * adapters.parameters : eight_bit(8 * adapters.parameters, 4);
    need.activations = peak_without_gradients(step) - own;
    // The input of each adapter's second product, and with QLoRA one weight in bf16.
    const std::int64_t kept =
        layout.checkpoint == programs::Checkpoint::full
            ? adapters.matrices / std::max<std::int64_t>(1, architecture.layers())
            : adapters.matrices;
    need.activations += kept * step.tokens * question.lora_rank * 2;
    if (question.purpose == Purpose::qlora) {
        std::int64_t largest = 0;
        for (const programs::Weight& each : adapters.products) {
            largest = std::max(largest, 2 * each.elements());
        }
        need.activations += largest;
    }
    return need;
}

}  // namespace

std::int64_t least_memory(const programs::Architecture& architecture, const PlanQuestion& question,
                          const Layout& layout) {
    const auto element = static_cast<double>(model::size_of(question.type));
    if (question.purpose == Purpose::qlora) {
        return programs::stored_bytes(architecture, programs::Quantisation::int4, 2);
    }
    if (question.purpose == Purpose::lora) {
        return static_cast<std::int64_t>(element) * parameters_of(architecture);
    }
    const programs::Architecture stage = stage_of(architecture, layout.pipeline);
    const double held = without_embedding(stage, layout.pipeline) *
                        static_cast<double>(parameters_of(stage)) /
                        static_cast<double>(layout.tensor_parallel);
    const auto sharers = static_cast<double>(layout.copies * layout.context_parallel);
    const double stored = question.mixed ? 4.0 : element;
    const double states = question.optimizer == Optimizer::adamw8bit ? 2.0 : 2.0 * stored;
    const double weights = 2.0 * stored * (layout.zero > 1 ? 1.0 / sharers : 1.0);
    return static_cast<std::int64_t>(held *
                                     (weights + states * (layout.zero > 0 ? 1.0 / sharers : 1.0)));
}

PlanRow training_need(const programs::Architecture& architecture, const PlanQuestion& question,
                      const Place& place, const Layout& layout) {
    PlanRow row = row_of(place, layout);
    row.batch = layout.micro_batch * layout.accumulation * layout.copies;
    programs::Request share = request_of(question, place, layout);
    share.seq = question.seq / layout.context_parallel;
    programs::ModelStep step = make_step(stage_of(architecture, layout.pipeline), share);
    if (layout.context_parallel > 1) {
        if (const auto why = cannot_share(step.program)) {
            row.reason = *why;
            return row;
        }
        share_sequence(step, layout.context_parallel, question.seq);
    }
    row.memory = training_memory(architecture, question, layout, share, step);
    judge_memory(row, question.reserve);
    return row;
}

PlanRow training_row(const programs::Architecture& architecture, const PlanQuestion& question,
                     const Place& place, const Layout& layout) {
    PlanRow row = training_need(architecture, question, place, layout);
    if (!row.fits) return row;
    const TrainingStep whole = training_step(architecture, request_of(question, place, layout),
                                             shape_of(layout), *place.machine, place.host);
    row.host_bound = whole.time.host_bound();
    row.evidence_shares = evidence_of(whole.time.gpu.total);
    row.pace = whole.wall;
    row.reason = whole.reason;
    if (row.pace) set_rate(row, question);
    return row;
}

namespace {

/// A step of frozen weights, without the adapters.
programs::ModelStep frozen_step(const programs::Architecture& architecture,
                                const PlanQuestion& question, const Place& place,
                                const Layout& layout) {
    Layout one = layout;
    one.copies = 1;
    programs::Request request = request_of(question, place, one);
    request.mixed = false;
    request.optimizer = programs::Optimizer::none;
    return make_step(architecture, request);
}

PlanRow adapter_need_of(const programs::Architecture& architecture, const PlanQuestion& question,
                        const Place& place, const Layout& layout, const programs::ModelStep& step,
                        const Adapted& adapters) {
    PlanRow row = row_of(place, layout);
    row.batch = layout.micro_batch * layout.accumulation * layout.copies;
    row.memory = adapter_memory(architecture, question, layout, step, adapters);
    judge_memory(row, question.reserve);
    return row;
}

}  // namespace

PlanRow adapter_need(const programs::Architecture& architecture, const PlanQuestion& question,
                     const Place& place, const Layout& layout) {
    return adapter_need_of(architecture, question, place, layout,
                           frozen_step(architecture, question, place, layout),
                           adapted(architecture, question.lora_rank));
}

PlanRow adapter_row(const programs::Architecture& architecture, const PlanQuestion& question,
                    const Place& place, const Layout& layout) {
    const programs::ModelStep step = frozen_step(architecture, question, place, layout);
    const Adapted adapters = adapted(architecture, question.lora_rank);
    PlanRow row = adapter_need_of(architecture, question, place, layout, step, adapters);
    if (!row.fits) return row;
    const programs::StepTime time = predict(step, *place.machine, place.host);
    if (const auto why = first_not_modelled(step.program, time.gpu)) {
        row.reason = *why;
        return row;
    }
    const Time saved = time_of_weight_gradients(step, time);
    Time added = adapter_time(adapters, question, step.tokens, *place.machine);
    if (question.purpose == Purpose::qlora) added += dequantising(adapters, *place.machine);
    Spread pace = spread_of(time);
    const auto changed = [&](Time wall) { return std::max(time.host, wall - saved + added); };
    pace = {.time = changed(pace.time),
            .low = changed(pace.low),
            .high = changed(pace.high),
            .evidence = pace.evidence};
    row.host_bound = time.host >= pace.time;
    row.evidence_shares = evidence_of(time.gpu.total);
    row.pace = static_cast<double>(layout.accumulation) * pace;
    set_rate(row, question);
    return row;
}

}  // namespace ridge::answers
