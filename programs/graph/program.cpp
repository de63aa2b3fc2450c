#include "programs/graph/program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "model/machine/machine_software.h"
#include "model/predict.h"
#include "model/software.h"

namespace ridge::programs {
namespace {

model::Work times(model::Work work, double count) {
    work.tensor = work.tensor * count;
    work.fma = work.fma * count;
    work.vector = work.vector * count;
    work.special *= count;
    work.compulsory_read = work.compulsory_read * count;
    work.compulsory_write = work.compulsory_write * count;
    work.dram_read = work.dram_read * count;
    work.dram_write = work.dram_write * count;
    work.l2 = work.l2 * count;
    work.shared = work.shared * count;
    return work;
}

/// A value at `share` of the way between two.
template <class Q>
Q between(Q from, Q to, double share) {
    return from + (to - from) * share;
}

/// In an engine's step, on a machine for that engine, the engine's own kernel runs if one is described.
model::Execution in_engine(const Entry& entry, const model::Machine& machine) {
    const model::Execution& asked = entry.execution;
    const bool step = asked.launch == model::LaunchMode::graph && !model::is_chosen(asked) &&
                      asked.implementation == model::Implementation::automatic;
    if (!step || !machine.software || machine.software->chosen().is_usual()) return asked;
    model::Execution own = asked;
    own.software = machine.software->chosen();
    const model::SoftwareRun run = model::run_of(entry.operation, own, machine);
    return run.kernel != nullptr && run.machine != nullptr ? own : asked;
}

/// The operation, at the entry's position between a warm and a cold L2 cache. (S10)
model::Outcome operation_of(const Entry& entry, const model::Machine& machine) {
    model::Execution execution = in_engine(entry, machine);
    // A machine without its files of software does not know what a framework picks.
    if (!machine.software) execution.mode = model::RunMode::usual;
    if (entry.from_dram <= 0.0) return model::predict(entry.operation, execution, machine);
    model::WarmAndCold both = model::predict_warm_and_cold(entry.operation, execution, machine);
    auto* const warm = std::get_if<model::Prediction>(&both.warm);
    const auto* const cold = std::get_if<model::Prediction>(&both.cold);
    if (warm != nullptr && cold != nullptr && cold->time > warm->time) {
        const double factor = 1.0 + entry.from_dram * (cold->time / warm->time - 1.0);
        warm->time *= factor;
        warm->low *= factor;
        warm->high *= factor;
        model::Work& work = warm->work;
        work.dram_read = between(work.dram_read, cold->work.dram_read, entry.from_dram);
        work.dram_write = between(work.dram_write, cold->work.dram_write, entry.from_dram);
    }
    return std::move(both.warm);
}

/// Least times were measured at the clock of an H200 and an H100. A kernel that short waits for
/// instructions, caches and memory, whose latencies in clocks differ less between GPUs than in time. (W3)
Time least_on(const Entry& entry, const model::Machine& machine) {
    constexpr Frequency measured_at = 1980.0 * units::MHz;
    if (machine.boost_clock <= Frequency{}) return entry.least;
    return entry.least * (measured_at / machine.boost_clock);
}

/// A time by rule: the band is wider by so much on either side, and the kernel counts as another one.
void spread_band(model::Prediction& prediction, double spread) {
    if (spread <= 0.0) return;
    prediction.evidence.kernel = model::KernelEvidence::other;
    prediction.low = std::max(prediction.lower_bound, prediction.low * std::exp(-spread));
    prediction.low = std::min(prediction.low, prediction.time);
    prediction.high *= std::exp(spread);
}

/// Times by rule (W2 to W4, S6 to S8) were read off PyTorch's kernels on an H200 and an H100: on
/// another GPU they say less, and the band is wider by as much as launches differ between GPUs.
void rest_on_rule(model::Prediction& prediction, const model::Machine& machine) {
    if (machine.torch_evidence() == model::Evidence::own) return;
    constexpr double margin = 0.15;
    spread_band(prediction, margin);
}

}  // namespace

std::int64_t Program::kernels() const {
    return std::accumulate(
        entries.begin(), entries.end(), std::int64_t{0},
        [](std::int64_t sum, const Entry& entry) { return sum + entry.count * entry.kernels; });
}

std::optional<std::string> first_not_modelled(const Program& program, const ProgramTime& time) {
    for (std::size_t i = 0; i < time.outcomes.size(); ++i) {
        const auto* none = std::get_if<model::NotModelled>(&time.outcomes[i]);
        if (none != nullptr) return program.entries[i].name + ": " + none->reason;
    }
    return std::nullopt;
}

Time time_of(const Entry& entry, const model::Outcome& outcome) {
    const auto* prediction = std::get_if<model::Prediction>(&outcome);
    return prediction == nullptr ? Time{} : prediction->time * static_cast<double>(entry.count);
}

model::Outcome predict(const Entry& entry, const model::Machine& machine) {
    if (!entry.unmodelled.empty()) return model::NotModelled{entry.unmodelled};
    model::Outcome outcome = operation_of(entry, machine);
    auto* prediction = std::get_if<model::Prediction>(&outcome);
    if (prediction == nullptr) return outcome;
    Time time = prediction->time * entry.stretch;
    // A kernel that is faster because it reads fewer bytes, such as packed weights. (W4)
    if (entry.stretch < 1.0) {
        prediction->work.dram_read *= entry.stretch;
        prediction->work.compulsory_read *= entry.stretch;
        prediction->lower_bound *= entry.stretch;
    }
    if (entry.work) {
        const auto work = time_of(*entry.work, machine);
        if (work) time = std::max(work->time, prediction->lower_bound);
    }
    if (entry.beside) {
        if (const auto work = time_of(*entry.beside, machine)) time += work->time;
    }
    // All SMs compute indices at their clock, after the launch. (W3)
    if (entry.indexed_clocks > 0.0 && machine.sm_count > 0) {
        const Cycles clocks = entry.indexed_clocks * units::cycle;
        const Time computing =
            clocks / (static_cast<double>(machine.sm_count) * machine.boost_clock);
        time = std::max(time, machine.kernel_floor + computing);
    }
    const Time least = least_on(entry, machine);
    time = std::max(time, least);
    const bool by_rule = time > prediction->time || entry.stretch < 1.0 || entry.work;
    if (by_rule) rest_on_rule(*prediction, machine);
    if (time > prediction->time || entry.stretch < 1.0 || entry.work) {
        const double factor = time / prediction->time;
        prediction->time = time;
        prediction->low *= factor;
        prediction->high *= factor;
        prediction->limiter = time > least ? model::Resource::issue : model::Resource::latency;
    }
    return outcome;
}

model::Grade weakest_grade(const Totals& total) {
    constexpr double least_share = 1e-3;
    for (std::size_t i = 0; i < total.by_grade.size(); ++i) {
        if (total.by_grade[i] > least_share * total.time) return static_cast<model::Grade>(i);
    }
    return model::Grade::measured;
}

ProgramTime predict(const Program& program, const model::Machine& machine) {
    ProgramTime result;
    result.outcomes.reserve(program.entries.size());
    model::BandSum band;
    for (const Entry& entry : program.entries) {
        result.outcomes.push_back(predict(entry, machine));
        result.total.kernels += entry.count * entry.kernels;
        const auto* part = std::get_if<model::Prediction>(&result.outcomes.back());
        if (part == nullptr) {
            result.total.left_out.add(std::get<model::NotModelled>(result.outcomes.back()).reason);
            continue;
        }
        const auto count = static_cast<double>(entry.count);
        result.total.work += times(part->work, count);
        result.total.time += part->time * count;
        result.total.by_grade[static_cast<std::size_t>(part->evidence.grade())] +=
            part->time * count;
        band.add(*part, count);
    }
    result.total.low = result.total.time - band.below();
    result.total.high = result.total.time + band.above();
    return result;
}

std::string_view name_of(Module module) {
    constexpr std::array<std::string_view, module_count> names{
        "embedding", "norm", "attention", "mlp",           "experts", "residual",
        "head",      "loss", "optimizer", "communication", "encoder", "other"};
    return names[static_cast<std::size_t>(module)];
}

std::string_view name_of(Pass pass) {
    switch (pass) {
        case Pass::forward:
            return "forward";
        case Pass::backward:
            return "backward";
        case Pass::update:
            return "update";
    }
    return "";
}

}  // namespace ridge::programs
