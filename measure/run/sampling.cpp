#include "measure/run/sampling.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "model/collectives/work.h"

namespace ridge::measure {
namespace {

/// Times are rounded to a tenth of a nanosecond, far below the resolution of any clock, to keep
/// records short.
Time rounded(Time time) {
    constexpr double per_second = 1e10;
    return Time::from_base(std::max(1.0, std::round(time.base() * per_second)) / per_second);
}

bool works(const DeviceInfo& info, std::string_view name) {
    const Feature* feature = info.feature(name);
    return feature != nullptr && feature->works();
}

std::string why_not(const DeviceInfo& info, std::string_view name) {
    const Feature* feature = info.feature(name);
    return feature != nullptr && feature->missing ? feature->missing->reason : "not available";
}

bool several_gpus(const model::Operation& operation) {
    const auto* const collective = std::get_if<model::Collective>(&operation);
    return collective != nullptr && !model::is_host_copy(collective->kind);
}

Method method_of_several(model::LaunchMode launch) {
    switch (launch) {
        case model::LaunchMode::graph:
            return Method::graph;
        case model::LaunchMode::stream:
            return Method::calls;
        case model::LaunchMode::kernel:
            break;
    }
    return Method::together;
}

}  // namespace

Hooks real_hooks() {
    return {.seconds =
                [] {
                    const auto now = std::chrono::steady_clock::now().time_since_epoch();
                    return std::chrono::duration<double>(now).count();
                },
            .interrupted = [] { return false; }};
}

bool converged(std::span<const Sample> samples, const SamplingOptions& options) {
    constexpr double wanted_confidence = 0.95;
    const std::vector<double> times = steady_times(samples);
    if (times.empty() || static_cast<std::int64_t>(times.size()) < options.fewest) return false;
    const Statistics statistics = summarise(times);
    return statistics.confidence >= wanted_confidence &&
           statistics.relative_half_width() <= options.relative_half_width;
}

Maybe<Method> choose_method(Time estimate, std::int64_t launches, const Question& question,
                            const DeviceInfo& info) {
    const model::Execution& execution = question.execution;
    const bool cold = execution.l2 == model::L2State::cold;
    if (several_gpus(question.operation)) return method_of_several(execution.launch);
    if (execution.l2 == model::L2State::dirty) {
        return Unavailable{.reason = "a dirty L2 cannot be measured: the L2 flush ends with reads",
                           .remedy = "use l2=cold"};
    }
    if (execution.launch == model::LaunchMode::graph) {
        if (!cold) return Method::graph;
        return Unavailable{.reason = "a replayed graph always runs with a warm L2",
                           .remedy = "use l2=warm or launch=kernel"};
    }
    if (execution.launch == model::LaunchMode::stream) return Method::events;
    const bool one_long_kernel = launches <= 1 && estimate >= shortest_for_events;
    if (one_long_kernel) return Method::events;
    if (works(info, "activity")) return Method::activity;
    if (launches <= 1 && !cold) return Method::graph;
    return Unavailable{
        .reason = (launches > 1 ? "several kernels" : "a short kernel with a cold L2") +
                  std::string(" can only be timed by activity records: ") +
                  why_not(info, "activity"),
        .remedy = "install CUPTI (part of the CUDA Toolkit), or use launch=graph l2=warm"};
}

void settle(Timing& timing, const SamplingOptions& options) {
    const std::vector<double> times = steady_times(timing.samples);
    timing.discarded =
        static_cast<std::int64_t>(timing.samples.size()) - static_cast<std::int64_t>(times.size());
    timing.statistics.reset();
    timing.clock.reset();
    timing.converged = converged(timing.samples, options);
    if (times.empty()) return;
    timing.statistics = summarise(times);
    double sum = 0.0;
    std::int64_t seen = 0;
    for (const Sample& sample : timing.samples) {
        if (sample.throttled || !sample.clock) continue;
        sum += sample.clock->base();
        ++seen;
    }
    if (seen > 0) timing.clock = Frequency::from_base(sum / static_cast<double>(seen));
}

Timing take_samples(Case& unit, Method method, const Question& question,
                    const SamplingOptions& options, const Hooks& hooks) {
    constexpr std::int64_t first_batch = 5;
    Timing timing{.method = method};
    const double start = hooks.seconds();
    double elapsed = 0.0;
    std::int64_t batch = std::min(first_batch, options.most);
    while (batch > 0 && !hooks.interrupted()) {
        const std::vector<Sample> taken = unit.sample({.method = method,
                                                       .l2 = question.execution.l2,
                                                       .launch = question.execution.launch,
                                                       .count = static_cast<std::int32_t>(batch)});
        for (const Sample& sample : taken) {
            timing.samples.push_back(sample);
            timing.samples.back().time = rounded(sample.time);
        }
        elapsed = hooks.seconds() - start;
        const auto done = static_cast<std::int64_t>(timing.samples.size());
        if (taken.empty() || done >= options.most || converged(timing.samples, options)) break;
        const double each = elapsed / static_cast<double>(done);
        const double affordable = each > 0.0 ? (options.seconds - elapsed) / each : 1e9;
        const std::int64_t wanted = std::max(options.fewest - done, done / 2);
        batch = std::min({wanted, options.most - done,
                          static_cast<std::int64_t>(std::clamp(affordable, 0.0, 1e9))});
    }
    timing.seconds = elapsed;
    settle(timing, options);
    return timing;
}

}  // namespace ridge::measure
