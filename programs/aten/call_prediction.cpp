// Predicts one call on a GPU: its steps with the model, its kernels by the units that they keep
// busy.
#include <algorithm>
#include <utility>

#include "model/roof/band.h"
#include "programs/aten/least_change.h"
#include "programs/aten/operations.h"
#include "programs/graph/costs.h"

namespace ridge::programs {
namespace {

/// The kernels replace the times of the steps; the steps still give the work.
void take_kernels(CallPrediction& one, const KernelTime& kernels) {
    one.answer.time = kernels.time;
    one.answer.low = std::max(kernels.lower_bound, kernels.time * cost("work.band_low"));
    one.answer.high = kernels.time * cost("work.band_high");
    one.lower_bound = kernels.lower_bound;
    one.bound = name_of(kernels.memory_bound ? model::Bound::memory : model::Bound::compute);
    one.limiter = kernels.streams ? "dram" : "multiprocessors";
}

/// The fitted law replaces the times of the steps; they still give the work.
void take_law(CallPrediction& one, const TemplateTime& law) {
    // Where the GPU was not measured, the band is no narrower than that of the steps.
    const Time steps = one.answer.time;
    const bool wide = one.answer.grade != model::Grade::measured && steps > Time{};
    const double low = wide ? one.answer.low / steps : 1.0;
    const double high = wide ? one.answer.high / steps : 1.0;
    one.answer.time = law.time;
    one.answer.low = std::min(law.low, law.time * low);
    one.answer.high = std::max(law.high, law.time * high);
    one.lower_bound = std::min(one.lower_bound, law.lower_bound);
    if (law.by_rule) return;  // the rule knows what holds it back
    one.bound = name_of(model::Bound::memory);
    one.limiter = law.streams ? "dram" : "multiprocessors";
}

/// The kernels' own laws one after another.
TemplateTime sum_of(const Understood& call, const model::Machine& machine) {
    TemplateTime sum{};
    Time streamed;
    for (const KernelPart& part : call.parts) {
        const TemplateTime one = time_of(*template_of(part.law), part.counts, machine);
        sum.time += one.time;
        if (one.streams) streamed += one.time;
    }
    sum.low = sum.time * call.by_kernels->low;
    sum.high = sum.time * call.by_kernels->high;
    sum.lower_bound = std::min(machine.kernel_floor, sum.low);
    sum.streams = streamed * 2.0 >= sum.time;
    return sum;
}

void add_work(CallPrediction& one, const KernelTime& work) {
    one.answer.time += work.time;
    one.answer.low += work.time * cost("work.band_low");
    one.answer.high += work.time * cost("work.band_high");
    if (work.time * 2.0 > one.answer.time) one.limiter = "multiprocessors";
}

/// Nothing is known of how well such kernels do, but that none is faster than the roofline.
void widen(CallPrediction& one) {
    one.answer.low = std::min(one.answer.low, one.lower_bound);
    one.answer.high = model::roofline_band_factor * one.answer.time + model::roofline_band_call;
    one.answer.grade = std::min(one.answer.grade, model::Grade::related);
}

model::WorkloadPrediction answer_of(const Understood& call, const model::Machine& machine) {
    if (call.entries.empty()) return model::predict(call.steps, machine);
    std::vector<model::Outcome> parts;
    std::vector<std::int64_t> counts;
    for (const Entry& entry : call.entries) {
        parts.push_back(predict(entry, machine));
        counts.push_back(entry.count);
    }
    return model::add_up(std::move(parts), counts);
}

}  // namespace

CallPrediction predict(const Understood& call, const model::Machine& machine) {
    CallPrediction one{.answer = answer_of(call, machine)};
    const model::Prediction* longest = nullptr;
    for (const model::Outcome& part : one.answer.parts) {
        if (const auto* unmodelled = std::get_if<model::NotModelled>(&part)) {
            return {.reason = unmodelled->reason};
        }
        const auto& each = std::get<model::Prediction>(part);
        one.lower_bound += each.lower_bound;
        if (longest == nullptr || each.time > longest->time) longest = &each;
    }
    if (longest == nullptr) return {.reason = "it takes no time on a GPU"};
    one.bound = name_of(longest->bound);
    one.limiter = name_of(longest->limiter);
    if (call.beside) {
        if (const auto work = time_of(*call.beside, machine)) add_work(one, *work);
    }
    if (!call.kernels.empty()) {
        if (const auto kernels = time_of(call.kernels, machine)) take_kernels(one, *kernels);
    }
    if (call.ruled) one.rule = one.answer.time;
    if (call.by_kernels != nullptr) {
        take_law(one, sum_of(call, machine));
    } else if (const Template* law = call.by_launches != nullptr ? call.by_launches : call.law) {
        take_law(one, time_of(*law, call.counts, machine, one.answer.time));
    }
    if (call.foreign) widen(one);
    return one;
}

double least_change() {
    return cost("changes.least");
}

}  // namespace ridge::programs
