// Runs a serving engine's scheduler over predicted step times.
//
//   StepTimes times(parts, engine);
//   const TrafficRun run = simulate(requests, {.tokens = 200'000, .concurrency = 0}, times);
//   run.requests[i].first_token_ns, run.steps, run.busy_ns
//
// Method: the policy of vLLM's first-come scheduler, event by event. A step takes one token of each
// running sequence (and its drafts), then the rest of prompts that were begun, then waiting requests
// by priority and arrival, as long as the step's tokens, sequences and the cache's pages last; a
// prompt is cut where the step is full. A sequence for which there is no page makes the one admitted
// last, of the lowest priority, give up its pages and wait again; it computes again what the cache has
// lost of it by then. With memory on the host, whole pages are copied there when they are complete, and a
// sequence that finds them there waits for them while others run. Images of a prompt are encoded in the step
// with its first tokens, as many tokens of them as a step may have. A request waits, and others pass it, if
// its adapter has no slot. Prompts of a group find the pages of its prefix, as long as the cache keeps them:
// pages that no sequence uses are dropped when others need them, the ones unused for longest first.
// Times are whole nanoseconds; equal input gives equal output.
// Limits: one scheduler; ranks of data-parallel attention are balanced; pages of a prefix belong to
// its group as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs/traffic/histogram.h"
#include "programs/traffic/requests.h"
#include "programs/traffic/step_times.h"

namespace ridge::programs {

struct TrafficOptions {
    std::int64_t tokens = 0;       ///< of cache
    std::int64_t host_tokens = 0;  ///< of cache in the host's memory
    std::int64_t concurrency = 0;  ///< requests at a time, each follows another; 0: by arrival
    std::uint64_t seed = 1;        ///< of the acceptance of drafts
    std::int64_t skip = 0;         ///< first requests that gaps between tokens leave out
    std::int64_t longest = 0;      ///< tokens of a sequence, by the model's positions; 0: any
    bool prompts_ready = false;    ///< prompts come with their cache and first token
};

struct RequestOutcome {
    std::int64_t arrival_ns = 0;
    std::int64_t started_ns = 0;  ///< first step with one of its tokens
    std::int64_t first_token_ns =
        0;  ///< -1: refused, it never fits into the cache or the positions
    std::int64_t finished_ns = 0;
    std::int64_t prompt = 0;
    std::int64_t answer = 0;  ///< tokens given out
    std::int64_t cached = 0;  ///< prompt tokens found in the cache, or on the host, at first
    std::int64_t preemptions = 0;

    [[nodiscard]] bool refused() const { return first_token_ns < 0; }
};

/// The state of the server over a stretch of time: means over it.
struct TrafficSample {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    double running = 0.0;
    double waiting = 0.0;
    double cache = 0.0;   ///< share of pages in use
    double tokens = 0.0;  ///< given out, per second
};

/// Sums that must agree with each other (`conserved`).
struct TrafficSums {
    std::int64_t prompt_tokens = 0;    ///< computed, again after a preemption
    std::int64_t cached_tokens = 0;    ///< found in the cache instead
    std::int64_t fetched_tokens = 0;   ///< found on the host
    std::int64_t sent_tokens = 0;      ///< came with the request
    std::int64_t decoded_tokens = 0;   ///< computed one by one, or as drafts that were right
    std::int64_t lost_tokens = 0;      ///< in the cache of sequences that gave up their places
    std::int64_t encoded_tokens = 0;   ///< of images
    std::int64_t answer_tokens = 0;    ///< given out
    std::int64_t repeated_tokens = 0;  ///< computed although they had been before
    std::int64_t drafted_tokens = 0;
    std::int64_t accepted_tokens = 0;
    std::int64_t pages_taken = 0;
    std::int64_t pages_given = 0;
    std::int64_t pages_kept = 0;   ///< became those of a group's prefix
    std::int64_t host_stored = 0;  ///< pages copied to the host
    std::int64_t host_dropped = 0;
    std::int64_t host_left = 0;         ///< at the end
    std::int64_t fetched_adapters = 0;  ///< copied from the host
    std::int64_t most_adapters = 0;     ///< in a step
    std::int64_t steps = 0;
    std::int64_t mixed_steps = 0;  ///< with prompts and decoding
    std::int64_t preemptions = 0;
    std::int64_t busy_ns = 0;
    std::int64_t idle_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t most_pages = 0;  ///< in use at a time
};

struct TrafficRun {
    std::vector<RequestOutcome> requests{};
    Histogram gaps{};  ///< between two tokens of a sequence, in seconds
    std::vector<TrafficSample> timeline{};
    TrafficSums sums{};
    std::int64_t pages = 0;  ///< of the cache
};

[[nodiscard]] TrafficRun simulate(const std::vector<TrafficRequest>& requests,
                                  const TrafficOptions& options, StepTimes& times);

/// Empty, or which sum of a run does not agree: tokens asked and given, pages taken and given, time
/// busy and idle.
[[nodiscard]] std::string violation(const TrafficRun& run,
                                    const std::vector<TrafficRequest>& requests);

}  // namespace ridge::programs
