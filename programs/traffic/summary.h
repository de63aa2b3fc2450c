// What a simulated run means to users: latencies at quantiles, throughput, goodput.
//
//   const TrafficSummary s = summarise(run, {.targets = {.ttft = 500.0 * units::ms}});
//   s.ttft.p99, s.ttft.p99_low, s.ttft.p99_high, s.tokens_per_s, s.goodput
//
// TTFT is from the arrival to the first token, TPOT the mean time per further token of a request, ITL
// the time between two tokens of any request, end-to-end from arrival to the last token. The interval
// of p99 is that of the order statistics between which it lies with 95 % if requests are independent; that
// of ITL allows for gaps that depend on each other (histogram.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "programs/serving.h"
#include "programs/traffic/simulation.h"

namespace ridge::programs {

/// Seconds.
struct Quantiles {
    std::int64_t count = 0;
    double mean = 0.0;
    double p50 = 0.0;
    double p90 = 0.0;
    double p99 = 0.0;
    double p99_low = 0.0;
    double p99_high = 0.0;
};
[[nodiscard]] Quantiles quantiles_of(std::vector<double> values);

struct TrafficSummary {
    Quantiles ttft{};
    Quantiles tpot{};
    Quantiles itl{};
    Quantiles end_to_end{};
    Quantiles queue{};  ///< from the arrival to the first step
    double seconds = 0.0;
    double requests_per_s = 0.0;       ///< finished, over the whole run
    double tokens_per_s = 0.0;         ///< likewise
    double steady_tokens_per_s = 0.0;  ///< while requests still arrive, after the first `skip`
    double goodput = 0.0;              ///< requests/s that met the targets
    double within = 0.0;               ///< share of requests that did
    double running = 0.0;              ///< sequences, mean while busy and requests arrive
    double waiting = 0.0;
    double context = 0.0;  ///< tokens in the cache of a running sequence, mean
    double cache = 0.0;    ///< share of pages in use, mean while busy
    double cache_most = 0.0;
    double mixed = 0.0;     ///< share of steps with prompts and decoding
    double found = 0.0;     ///< share of prompt tokens found in the cache
    double fetched = 0.0;   ///< share that came from the host's memory instead
    double accepted = 0.0;  ///< share of drafted tokens
    std::int64_t preemptions = 0;
    std::int64_t adapters_fetched = 0;  ///< copied from the host
    std::int64_t refused = 0;
};

struct SummaryOptions {
    Targets targets{};
    std::int64_t skip = 0;  ///< first requests that the latencies leave out
};

/// Of several servers that share the load, each with its own run.
[[nodiscard]] TrafficSummary summarise(const std::vector<TrafficRun>& runs,
                                       const SummaryOptions& options);

}  // namespace ridge::programs
