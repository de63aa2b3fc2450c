#include "answers/candidate.h"

#include <algorithm>

#include "answers/pipeline.h"
#include "programs/software/recorder.h"

namespace ridge::answers {

using programs::Phase;
using programs::StepMemory;

PlanRow row_of(const Place& place, const Layout& layout) {
    PlanRow row;
    row.gpu = place.machine->name;
    row.title = place.machine->title;
    row.gpus = layout.gpus();
    row.usable = place.usable;
    row.usable_measured = place.usable_measured;
    row.layout = layout;
    if (place.price) row.price_per_hour = *place.price * static_cast<double>(row.gpus);
    row.price_source = place.price_source;
    return row;
}

Spread spread_of(const programs::StepTime& time) {
    const programs::Totals& total = time.gpu.total;
    return {.time = time.wall,
            .low = std::max(time.host, time.wall - (total.time - total.low)),
            .high = time.wall + (total.high - total.time),
            .evidence = weakest_grade(total)};
}

std::array<double, 4> evidence_of(const programs::Totals& total) {
    std::array<double, 4> shares{};
    Time sum{};
    for (const Time each : total.by_grade) sum += each;
    if (sum <= Time{}) return shares;
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = total.by_grade[i] / sum;
    return shares;
}

Spread operator+(const Spread& a, const Spread& b) {
    return {.time = a.time + b.time,
            .low = a.low + b.low,
            .high = a.high + b.high,
            .evidence = std::min(a.evidence, b.evidence)};
}

Spread operator*(double factor, const Spread& spread) {
    return {.time = factor * spread.time,
            .low = factor * spread.low,
            .high = factor * spread.high,
            .evidence = spread.evidence};
}

MemoryNeed need_of(const StepMemory& memory) {
    MemoryNeed need;
    for (const StepMemory::Part& part : memory.parts) {
        if (part.name == programs::model_phase::weights) {
            need.weights += part.bytes;
        } else if (part.name == programs::model_phase::cache) {
            need.cache += part.bytes;
        } else if (part.name == programs::model_phase::optimizer) {
            need.optimizer += part.bytes;
        } else if (part.name == "gradients") {
            need.gradients += part.bytes;
        } else {
            need.activations += part.bytes;
        }
    }
    return need;
}

void judge_memory(PlanRow& row, std::int64_t reserve) {
    row.memory.reserve = reserve;
    row.fits = row.memory.total() <= row.usable;
}

std::optional<std::int64_t> sequences_of_copy(const PlanQuestion& question, const Layout& layout) {
    if (!question.batch) return std::nullopt;
    if (question.purpose == Purpose::serve) {
        return (*question.batch + layout.copies - 1) / layout.copies;
    }
    if (*question.batch % layout.copies != 0) return std::nullopt;
    return *question.batch / layout.copies;
}

Serving::Serving(const programs::Architecture& architecture, const PlanQuestion& question,
                 const Place& place, const Layout& layout)
    : stage_(stage_of(architecture, layout.pipeline)),
      question_(question),
      place_(place),
      layout_(layout) {
    for (std::int64_t i = 0; i < layout.pipeline && layout.pipeline > 1; ++i) {
        widest_ = std::max(widest_, weights_of_stage(architecture, i));
    }
    programs::Request prefill = request(Phase::prefill);
    prefill.seq = question.seq;
    const programs::ModelStep step = make_step(stage_, prefill);
    prefill_activations_ = need_of(memory_of(step)).activations;
    const programs::StepTime time = predict(step, *place.machine, place.host);
    if (const auto why = first_not_modelled(step.program, time.gpu)) {
        reason_ = *why;
        return;
    }
    prefill_ = spread_of(time);
    if (layout.pipeline < 2) return;
    sent_ = handover(*place.machine, handover_bytes(stage_, question.seq, question.type));
    if (!sent_) reason_ = "sending to the next stage is not modelled";
}

programs::Request Serving::request(Phase phase) const {
    programs::Request request;
    request.phase = phase;
    request.software = question_.software;
    request.type = question_.type;
    request.cache_type = question_.cache_type;
    request.quantisation = question_.quantisation;
    request.tensor_parallel = layout_.tensor_parallel;
    request.expert_parallel = layout_.expert_parallel;
    if (place_.machine->sm_count > 0) request.multiprocessors = place_.machine->sm_count;
    return request;
}

std::int64_t Serving::weights_of_stage(const programs::Architecture& architecture,
                                       std::int64_t index) const {
    programs::Request short_step = request(Phase::decode);
    short_step.seq = 1;
    const programs::Architecture stage = architecture.stage(index, layout_.pipeline);
    return need_of(memory_of(make_step(stage, short_step))).weights;
}

std::optional<Spread> Serving::round(const programs::StepTime& time, std::int64_t group) const {
    const Spread stage = spread_of(time);
    if (layout_.pipeline < 2) return stage;
    const auto sent = handover(*place_.machine, handover_bytes(stage_, group, question_.type));
    if (!sent) return std::nullopt;
    return static_cast<double>(layout_.pipeline) * (stage + *sent);
}

PlanRow Serving::row(std::int64_t batch) const {
    PlanRow row = row_of(place_, layout_);
    row.layout.micro_batch = batch;
    row.batch = batch * layout_.copies;
    programs::Request decode = request(Phase::decode);
    // The groups of a pipeline take turns, so each stage holds the cache of all of them.
    const std::int64_t stages = layout_.pipeline;
    decode.batch = (batch + stages - 1) / stages;
    decode.seq = question_.seq + question_.answer;
    const StepMemory memory = memory_of(make_step(stage_, decode));
    row.memory = need_of(memory);
    if (stages > 1) row.memory.weights = widest_;
    row.memory.cache = row.memory.cache / decode.batch * batch;
    row.memory.activations = std::max(row.memory.activations, prefill_activations_);
    judge_memory(row, question_.reserve);
    row.reason = reason_;
    if (!row.fits || !prefill_ || !reason_.empty()) return row;
    decode.seq = question_.seq + question_.answer / 2;
    const programs::ModelStep step = make_step(stage_, decode, false);
    const programs::StepTime time = predict(step, *place_.machine, place_.host);
    const auto around = round(time, decode.batch);
    if (const auto why = first_not_modelled(step.program, time.gpu); why || !around) {
        row.reason = why ? *why : "sending to the next stage is not modelled";
        return row;
    }
    row.host_bound = time.host_bound();
    row.evidence_shares = evidence_of(time.gpu.total);
    // Each sequence's prefill delays all sequences of its copy once. (W6)
    const double share = static_cast<double>(batch) / static_cast<double>(question_.answer);
    row.pace = *around + share * *prefill_;
    row.first_token = stages < 2 ? *prefill_ : static_cast<double>(stages) * (*prefill_ + *sent_);
    row.tokens_per_s = static_cast<double>(row.batch) / row.pace->time.in(units::s);
    const programs::Targets& targets = question_.targets;
    row.meets_targets = (!targets.tpot || row.pace->time <= *targets.tpot) &&
                        (!targets.ttft || row.first_token->time <= *targets.ttft);
    return row;
}

}  // namespace ridge::answers
