#include "programs/traffic/summary.h"

#include <algorithm>
#include <cmath>

#include "hardware/si.h"
#include "hardware/units.h"

namespace ridge::programs {
namespace {

double seconds(std::int64_t ns) {
    return static_cast<double>(ns) * si::nanosecond;
}

std::int64_t last_arrival(const TrafficRun& run) {
    std::int64_t last = 0;
    for (const RequestOutcome& each : run.requests) last = std::max(last, each.arrival_ns);
    return last;
}

/// Mean of a timeline's value over the time in which anything ran and requests still arrived.
double busy_mean(const std::vector<TrafficRun>& runs, double TrafficSample::*value) {
    double sum = 0.0;
    double time = 0.0;
    for (const TrafficRun& run : runs) {
        const std::int64_t last = last_arrival(run);
        for (const TrafficSample& sample : run.timeline) {
            if (sample.running == 0.0 || (sample.from_ns >= last && time > 0.0)) continue;
            const double length = seconds(sample.to_ns - sample.from_ns);
            sum += length * sample.*value;
            time += length;
        }
    }
    return time > 0.0 ? sum / time : 0.0;
}

/// Tokens per second between the end of the first `skip` requests and the last arrival.
double steady_rate(const TrafficRun& run, std::int64_t skip) {
    const std::int64_t last = last_arrival(run);
    std::vector<std::int64_t> ends;
    for (const RequestOutcome& each : run.requests) {
        if (!each.refused()) ends.push_back(each.finished_ns);
    }
    std::sort(ends.begin(), ends.end());
    const auto skipped = static_cast<std::size_t>(skip);
    const std::int64_t start = skipped == 0 || skipped >= ends.size() ? 0 : ends[skipped - 1];
    double tokens = 0.0;
    double time = 0.0;
    for (const TrafficSample& sample : run.timeline) {
        const double length =
            seconds(std::min(sample.to_ns, last) - std::max(sample.from_ns, start));
        if (length <= 0.0) continue;
        tokens += length * sample.tokens;
        time += length;
    }
    return time > 0.0 ? tokens / time : 0.0;
}

bool meets(const RequestOutcome& each, const Targets& targets) {
    const double first = seconds(each.first_token_ns - each.arrival_ns);
    const double further = each.answer > 1 ? seconds(each.finished_ns - each.first_token_ns) /
                                                 static_cast<double>(each.answer - 1)
                                           : 0.0;
    return (!targets.ttft || first <= targets.ttft->in(units::s)) &&
           (!targets.tpot || further <= targets.tpot->in(units::s));
}

/// Latencies of requests, collected over all runs.
struct Latencies {
    std::vector<double> ttft, tpot, end_to_end, queue;
    std::int64_t finished = 0;
    std::int64_t within = 0;
    double context = 0.0;  ///< token-weighted
    double tokens = 0.0;

    void add(const RequestOutcome& each, const Targets& targets) {
        ++finished;
        within += meets(each, targets) ? 1 : 0;
        ttft.push_back(seconds(each.first_token_ns - each.arrival_ns));
        queue.push_back(seconds(each.started_ns - each.arrival_ns));
        end_to_end.push_back(seconds(each.finished_ns - each.arrival_ns));
        const auto answer = static_cast<double>(each.answer);
        context += answer * (static_cast<double>(each.prompt) + 0.5 * answer);
        tokens += answer;
        if (each.answer > 1) {
            tpot.push_back(seconds(each.finished_ns - each.first_token_ns) / (answer - 1.0));
        }
    }
};

void add_sums(TrafficSummary& s, const std::vector<TrafficRun>& runs) {
    double steps = 0.0;
    double mixed = 0.0;
    double computed = 0.0;
    double found = 0.0;
    double fetched = 0.0;
    double drafted = 0.0;
    double accepted = 0.0;
    std::int64_t tokens = 0;
    for (const TrafficRun& run : runs) {
        const TrafficSums& sums = run.sums;
        s.seconds = std::max(s.seconds, seconds(sums.end_ns));
        s.preemptions += sums.preemptions;
        tokens += sums.answer_tokens;
        steps += static_cast<double>(sums.steps);
        mixed += static_cast<double>(sums.mixed_steps);
        computed += static_cast<double>(sums.prompt_tokens);
        found += static_cast<double>(sums.cached_tokens);
        fetched += static_cast<double>(sums.fetched_tokens);
        s.adapters_fetched += sums.fetched_adapters;
        drafted += static_cast<double>(sums.drafted_tokens);
        accepted += static_cast<double>(sums.accepted_tokens);
        if (run.pages > 0) {
            s.cache_most = std::max(s.cache_most, static_cast<double>(sums.most_pages) /
                                                      static_cast<double>(run.pages));
        }
    }
    const auto share = [](double part, double whole) { return whole > 0.0 ? part / whole : 0.0; };
    s.mixed = share(mixed, steps);
    s.found = share(found, found + fetched + computed);
    s.fetched = share(fetched, found + fetched + computed);
    s.accepted = share(accepted, drafted);
    s.tokens_per_s = share(static_cast<double>(tokens), s.seconds);
}

}  // namespace

Quantiles quantiles_of(std::vector<double> values) {
    Quantiles q{.count = static_cast<std::int64_t>(values.size())};
    if (values.empty()) return q;
    std::sort(values.begin(), values.end());
    const auto count = static_cast<double>(values.size());
    const auto at = [&](double rank) {
        const double held = std::clamp(std::ceil(rank), 1.0, count);
        return values[static_cast<std::size_t>(held) - 1];
    };
    double sum = 0.0;
    for (const double value : values) sum += value;
    q.mean = sum / count;
    q.p50 = at(0.5 * count);
    q.p90 = at(0.9 * count);
    q.p99 = at(0.99 * count);
    // The number of values below the quantile is binomial; 1.96 deviations hold 95 %.
    constexpr double deviations = 1.96;
    const double spread = deviations * std::sqrt(count * 0.99 * 0.01);
    q.p99_low = at(0.99 * count - spread);
    q.p99_high = at(0.99 * count + spread);
    return q;
}

TrafficSummary summarise(const std::vector<TrafficRun>& runs, const SummaryOptions& options) {
    TrafficSummary s;
    Latencies all;
    Histogram gaps;
    for (const TrafficRun& run : runs) {
        for (std::size_t i = 0; i < run.requests.size(); ++i) {
            const RequestOutcome& each = run.requests[i];
            if (each.refused()) {
                ++s.refused;
            } else if (i >= static_cast<std::size_t>(options.skip)) {
                all.add(each, options.targets);
            }
        }
        gaps.add(run.gaps);
        s.steady_tokens_per_s += steady_rate(run, options.skip);
    }
    add_sums(s, runs);
    s.running = busy_mean(runs, &TrafficSample::running);
    s.waiting = busy_mean(runs, &TrafficSample::waiting);
    s.cache = busy_mean(runs, &TrafficSample::cache);
    s.context = all.tokens > 0.0 ? all.context / all.tokens : 0.0;
    s.ttft = quantiles_of(std::move(all.ttft));
    s.tpot = quantiles_of(std::move(all.tpot));
    s.end_to_end = quantiles_of(std::move(all.end_to_end));
    s.queue = quantiles_of(std::move(all.queue));
    s.itl = {.count = gaps.count(),
             .mean = gaps.mean(),
             .p50 = gaps.quantile(0.5),
             .p90 = gaps.quantile(0.9),
             .p99 = gaps.quantile(0.99),
             .p99_low = gaps.interval(0.99).low,
             .p99_high = gaps.interval(0.99).high};
    if (all.finished > 0) {
        s.within = static_cast<double>(all.within) / static_cast<double>(all.finished);
    }
    if (s.seconds > 0.0) s.requests_per_s = static_cast<double>(all.finished) / s.seconds;
    s.goodput = s.within * s.requests_per_s;
    return s;
}

}  // namespace ridge::programs
