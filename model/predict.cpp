#include "model/predict.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "hardware/error.h"
#include "model/access/predict.h"
#include "model/attention/predict.h"
#include "model/collectives/predict.h"
#include "model/compiled_product.h"
#include "model/core/engine_operations.h"
#include "model/core/fields.h"
#include "model/energy/energy.h"
#include "model/engine/predict.h"
#include "model/footprint/footprint.h"
#include "model/machine/machine_software.h"
#include "model/matmul/predict.h"
#include "model/mla/predict.h"
#include "model/moe/predict.h"
#include "model/own/predict.h"
#include "model/recurrence/predict.h"
#include "model/residual/correction.h"
#include "model/residual/kernel_correction.h"
#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/software.h"
#include "model/sparse/mixed.h"
#include "model/sparse/predict.h"
#include "model/streams/predict.h"
#include "model/token_wise/predict.h"

namespace ridge::model {
namespace {

/// Passes each operation to its own predictor, with what it needs from other folders.
struct Predictor {
    const Operation& operation;
    const Execution& execution;
    const Machine& machine;

    template <class Op>
    Outcome operator()(const Op& op) const {
        return predict(op, execution, machine);
    }
    Outcome operator()(const Matmul& op) const {
        const bool compiled = execution.implementation == Implementation::compiled;
        return compiled ? predict_compiled(op, execution, machine)
                        : predict(op, execution, machine);
    }
    Outcome operator()(const Attention& op) const {
        return predict(op, execution, machine, &predict, &predict);
    }
    Outcome operator()(const Elementwise& op) const {
        return with_footprint(op, pass_of(op.direction));
    }
    Outcome operator()(const Mla& op) const { return with_footprint(op, Pass::inference); }
    Outcome operator()(const Moe& op) const {
        return with_memory(Pass::inference, predict(op, execution, machine, &predict));
    }
    Outcome operator()(const SparseAttention& op) const {
        return with_footprint(op, Pass::inference);
    }
    Outcome operator()(const MixedAttention& op) const {
        return with_footprint(op, Pass::inference);
    }
    Outcome operator()(const Recurrence& op) const { return with_footprint(op, Pass::inference); }
    Outcome operator()(const TokenWise& op) const { return with_footprint(op, Pass::inference); }
    Outcome operator()(const Access& op) const { return with_footprint(op, Pass::inference); }

    template <class Op>
    [[nodiscard]] Outcome with_footprint(const Op& op, Pass pass) const {
        return with_memory(pass, predict(op, execution, machine));
    }
    [[nodiscard]] Outcome with_memory(Pass pass, Outcome outcome) const {
        if (auto* prediction = std::get_if<Prediction>(&outcome)) {
            // Uses the operation as asked: an alternative would have to be copied.
            prediction->footprint = footprint(operation, prediction->implementation, pass).total();
        }
        return outcome;
    }
};

/// A separate function, so that the outcome is built in the caller's storage.
Outcome settled(const Operation& operation, const Execution& execution, const Machine& machine) {
    Outcome outcome = std::visit(Predictor{operation, execution, machine}, operation);
    if (auto* prediction = std::get_if<Prediction>(&outcome)) settle_account(*prediction, machine);
    return outcome;
}

Outcome analytic(const Operation& operation, const Execution& execution, const Machine& machine) {
    if (execution.implementation != Implementation::automatic) {
        const OperationKind kind = kind_of(operation);
        if (!has(kind, execution.implementation)) {
            return NotModelled{refusal(kind, execution.implementation)};
        }
    }
    return settled(operation, execution, machine);
}

/// The part of an analytic time that the operation's kernels take: a call in a stream also waits for
/// the host.
Time kernel_time(const Prediction& prediction, const Operation& operation,
                 const Execution& execution, const Machine& machine) {
    if (execution.launch != LaunchMode::stream || machine.residuals == nullptr) {
        return prediction.time;
    }
    Execution alone = execution;
    alone.launch = LaunchMode::kernel;
    // Without a host, another implementation might be chosen.
    const bool chosen = execution.implementation == Implementation::automatic;
    if (chosen && has(kind_of(operation), prediction.implementation)) {
        alone.implementation = prediction.implementation;
    }
    const Outcome outcome = analytic(operation, alone, machine);
    const auto* const found = std::get_if<Prediction>(&outcome);
    return found == nullptr ? prediction.time : std::min(prediction.time, found->time);
}

/// An engine's kernel over the operation's counts.
Outcome predict_engine(const Operation& operation, const SoftwareRun& run) {
    const Machine& machine = *run.machine;
    Execution counts = run.execution;
    // Attention refuses caches that no kernel of a library reads; an engine's may.
    const bool attention = std::holds_alternative<Attention>(operation);
    counts.implementation = attention ? Implementation::engine : Implementation::automatic;
    Outcome outcome = settled(operation, counts, machine);
    auto* const prediction = std::get_if<Prediction>(&outcome);
    if (prediction == nullptr) return outcome;
    const Time kernels = apply_engine(*prediction, operation, run.execution, *run.kernel, machine);
    correct_kernel(*prediction, kernels, operation, *run.kernel, machine);
    settle_account(*prediction, machine);
    settle_terms(*prediction);
    widen_for_other_chip(*prediction, machine);
    prediction->energy = energy_of(*prediction, type_of(operation), machine);
    return outcome;
}

WarmAndCold engine_warm_and_cold(const Operation& operation, const SoftwareRun& run) {
    SoftwareRun warm = run;
    SoftwareRun cold = run;
    warm.execution.l2 = L2State::warm;
    cold.execution.l2 = L2State::cold;
    return {.warm = predict_engine(operation, warm), .cold = predict_engine(operation, cold)};
}

/// By the software and the mode that the execution asks for.
Outcome predict_chosen(const Operation& operation, const Execution& execution,
                       const Machine& machine) {
    const SoftwareRun run = run_of(operation, execution, machine);
    if (run.machine == nullptr) return NotModelled{run.refusal};
    Outcome outcome = run.kernel != nullptr ? predict_engine(operation, run)
                                            : predict(operation, run.execution, *run.machine);
    if (auto* const prediction = std::get_if<Prediction>(&outcome)) note_software(run, *prediction);
    return outcome;
}

/// Corrects the times of the kernels. Returns whether the correction depends on the state of the
/// L2.
bool correct(Prediction& prediction, const Operation& operation, const Execution& execution,
             const Machine& machine) {
    const Time kernels = kernel_time(prediction, operation, execution, machine);
    return apply_correction(prediction, kernels, operation, execution, machine);
}

/// What comes after the time is known: terms and limiter, the band of foreign parameters, energy.
void conclude(Prediction& prediction, const Operation& operation, const Machine& machine) {
    settle_terms(prediction);
    widen_for_other_chip(prediction, machine);
    if (type_of(operation) == DataType::nvfp4) widen_for_four_bits(prediction);
    prediction.energy = energy_of(prediction, type_of(operation), machine);
}

}  // namespace

namespace {

/// By an engine's kernel, although nobody named the engine; empty if none is known.
std::optional<Outcome> predict_in_engine(const Operation& operation, const Execution& execution,
                                         const Machine& machine) {
    if (!machine.software || execution.implementation != Implementation::automatic ||
        !runs_in_engines_only(kind_of(operation))) {
        return std::nullopt;
    }
    Execution chosen = execution;
    chosen.software = machine.software->chosen();
    const SoftwareRun run = run_of(operation, chosen, machine);
    if (run.machine == nullptr || run.kernel == nullptr) return std::nullopt;
    return predict_engine(operation, run);
}

}  // namespace

Outcome predict(const Operation& operation, const Execution& execution, const Machine& machine) {
    if (is_chosen(execution)) return predict_chosen(operation, execution, machine);
    if (auto in_engine = predict_in_engine(operation, execution, machine)) {
        return std::move(*in_engine);
    }
    Outcome outcome = analytic(operation, execution, machine);
    auto* const prediction = std::get_if<Prediction>(&outcome);
    if (prediction == nullptr) return outcome;
    const bool of_state = correct(*prediction, operation, execution, machine);
    if (of_state && execution.l2 != L2State::warm) {
        Execution warm = execution;
        warm.l2 = L2State::warm;
        Outcome other = analytic(operation, warm, machine);
        auto& least = std::get<Prediction>(other);
        if (prediction->time < longest_corrected(least)) {
            (void)correct(least, operation, warm, machine);
            keep_above(*prediction, least.time);
        }
    }
    conclude(*prediction, operation, machine);
    return outcome;
}

WarmAndCold predict_warm_and_cold(const Operation& operation, Execution execution,
                                  const Machine& machine) {
    if (is_chosen(execution)) {
        const SoftwareRun run = run_of(operation, execution, machine);
        if (run.machine == nullptr) {
            return {.warm = NotModelled{run.refusal}, .cold = NotModelled{run.refusal}};
        }
        WarmAndCold both = run.kernel != nullptr
                               ? engine_warm_and_cold(operation, run)
                               : predict_warm_and_cold(operation, run.execution, *run.machine);
        for (Outcome* const each : {&both.warm, &both.cold}) {
            if (auto* const prediction = std::get_if<Prediction>(each)) {
                note_software(run, *prediction);
            }
        }
        return both;
    }
    execution.l2 = L2State::warm;
    Outcome warm = predict(operation, execution, machine);
    execution.l2 = L2State::cold;
    if (auto in_engine = predict_in_engine(operation, execution, machine)) {
        return {.warm = std::move(warm), .cold = std::move(*in_engine)};
    }
    Outcome cold = analytic(operation, execution, machine);
    auto* const prediction = std::get_if<Prediction>(&cold);
    if (prediction != nullptr && correct(*prediction, operation, execution, machine)) {
        keep_above(*prediction, std::get<Prediction>(warm).time);
    }
    if (prediction != nullptr) conclude(*prediction, operation, machine);
    return {.warm = std::move(warm), .cold = std::move(cold)};
}

WorkloadPrediction predict(const Workload& workload, const Machine& machine) {
    std::vector<Outcome> parts;
    std::vector<std::int64_t> counts;
    parts.reserve(workload.size());
    counts.reserve(workload.size());
    for (const Step& step : workload) {
        parts.push_back(predict(step.operation, step.execution, machine));
        counts.push_back(step.count);
    }
    return add_up(std::move(parts), counts);
}

void BandSum::add(const Prediction& part, double count) {
    const Time under = count * (part.time - part.low);
    const Time over = count * (part.high - part.time);
    if (part.evidence.chip != ChipEvidence::own) {
        below_ += under;
        above_ += over;
        return;
    }
    below_squared_ += std::pow(under.base(), 2);
    above_squared_ += std::pow(over.base(), 2);
}

Time BandSum::below() const {
    return below_ + Time::from_base(std::sqrt(below_squared_));
}

Time BandSum::above() const {
    return above_ + Time::from_base(std::sqrt(above_squared_));
}

WorkloadPrediction add_up(std::vector<Outcome> parts, std::span<const std::int64_t> counts) {
    RIDGE_CONTRACT(counts.empty() || counts.size() == parts.size());
    WorkloadPrediction total;
    BandSum band;
    total.work.kernels = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Prediction* part = std::get_if<Prediction>(&parts[i]);
        if (part == nullptr) {
            total.left_out.add(std::get<NotModelled>(parts[i]).reason);
            continue;
        }
        const std::int64_t count = counts.empty() ? 1 : counts[i];
        const auto times = static_cast<double>(count);
        total.grade = std::min(total.grade, part->evidence.grade());
        total.work += repeated(part->work, count);
        total.time += times * part->time;
        total.largest_footprint = std::max(total.largest_footprint, part->footprint);
        band.add(*part, times);
    }
    total.low = total.time - band.below();
    total.high = total.time + band.above();
    total.parts = std::move(parts);
    return total;
}

}  // namespace ridge::model
