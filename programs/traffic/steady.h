// The steady state of a server: as many prompts come in as answers end.
//
//   StepTimes times(parts, engine);
//   const Steady s = steady_state(times, {.chunk = 8192, .batch = 64, .prompt = 2048, .answer = 256});
//   s.mean                      // time per token of a sequence
//   serve_steadily(architecture, service, engine, machine, usable)    // the points of `serve`
//
// Method: W16 and W29 of docs/models.md.
// Limits: means; all requests alike; a request does not wait in a queue.
#pragma once

#include <cstdint>
#include <vector>

#include "programs/serving.h"
#include "programs/traffic/step_times.h"

namespace ridge::programs {

/// What requests have in common.
struct Sharing {
    std::int64_t prefix = 0;  ///< tokens of each prompt that are its group's
    std::int64_t groups = 1;
    std::int64_t adapters = 0;  ///< of which each request uses one
};

/// Tokens of cache that a server has room for, and that its host keeps.
struct CacheRoom {
    std::int64_t tokens = 0;
    std::int64_t host = 0;
};

struct SteadyLoad {
    std::int64_t chunk = 8192;  ///< most tokens of a step
    std::int64_t batch = 1;     ///< sequences that decode
    std::int64_t prompt = 2048;
    std::int64_t answer = 256;
    Sharing sharing{};
    CacheRoom room{};  ///< for prefixes, beside the sequences
};

struct Steady {
    Time step{};           ///< that decodes only
    Time mean{};           ///< of all steps, per token of a sequence
    Time busy{};           ///< of the kernels in `mean`
    Time first{};          ///< to compute a prompt, after half a step of waiting
    double yield = 1.0;    ///< tokens of a sequence and step
    double prompts = 0.0;  ///< share of `mean` that prompts add
    double cached = 0.0;   ///< tokens of a prompt that the cache has
    double fetched = 0.0;  ///< and that come from the host
    bool keeps_up = true;  ///< prompts fit into the steps, and adapters into their slots
};

/// Tokens of cache that `batch` sequences of full length hold.
[[nodiscard]] std::int64_t tokens_held(const SteadyLoad& load);

/// `batch` sequences that decode, halfway through their answers.
[[nodiscard]] StepBatch decoding(const SteadyLoad& load, const Deployment& deployment);
/// The same with `tokens` of prompts, of which each has `prompt` to compute after `cached`.
[[nodiscard]] StepBatch with_prompts(StepBatch step, std::int64_t tokens, std::int64_t prompt,
                                     std::int64_t cached = 0);

[[nodiscard]] Steady steady_state(StepTimes& times, const SteadyLoad& load);

/// What is asked of the steady states of some deployments.
struct SteadyService {
    std::int64_t prompt = 2048;
    std::int64_t answer = 256;
    std::vector<std::int64_t> batches{};  ///< sequences of a server
    std::vector<Deployment> deployments{};
    Sharing sharing{};
};

/// A point for each deployment and batch that is at least its ranks, up to the first that does not fit
/// into the engine's share of `usable` bytes (zero: not checked).
[[nodiscard]] std::vector<ServingPoint> serve_steadily(const Architecture& architecture,
                                                       const SteadyService& service,
                                                       const Engine& engine,
                                                       const model::Machine& machine,
                                                       std::int64_t usable);

/// What an engine makes of a request's degrees: experts over the GPUs that share the products, and over
/// ranks with their own attention if there are more.
[[nodiscard]] Deployment deployment_of(const Request& request, std::int64_t tensor,
                                       const Engine& engine);

}  // namespace ridge::programs
