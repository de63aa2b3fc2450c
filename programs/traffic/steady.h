// The steady state of a server: as many prompts come in as answers end.
//
//   StepTimes times(parts, engine);
//   const Steady s = steady_state(times, {.chunk = 8192, .batch = 64, .prompt = 2048, .answer = 256});
//   s.mean                      // time per token of a sequence
//   serve_steadily(architecture, load, engine, machine, usable)    // the points of `serve`
//
// Method: W16 of docs/models.md.
// Limits: means; all requests alike; a request does not wait in a queue.
#pragma once

#include <cstdint>
#include <vector>

#include "programs/serving.h"
#include "programs/traffic/step_times.h"

namespace ridge::programs {

struct SteadyLoad {
    std::int64_t chunk = 8192;  ///< most tokens of a step
    std::int64_t batch = 1;     ///< sequences that decode
    std::int64_t prompt = 2048;
    std::int64_t answer = 256;
};

struct Steady {
    Time step{};           ///< that decodes only
    Time mean{};           ///< of all steps
    Time busy{};           ///< of the kernels in `mean`
    Time first{};          ///< to compute a prompt, after half a step of waiting
    double prompts = 0.0;  ///< share of `mean` that prompts add
    bool keeps_up = true;  ///< prompts fit into the steps
};

/// `batch` sequences that decode, halfway through their answers.
[[nodiscard]] StepBatch decoding(const SteadyLoad& load);
/// The same with `tokens` of prompts.
[[nodiscard]] StepBatch with_prompts(StepBatch step, std::int64_t tokens, std::int64_t prompt);

[[nodiscard]] Steady steady_state(StepTimes& times, const SteadyLoad& load);

/// Points as those of `serve`, for an engine: degrees of `load.gpus`, experts distributed over the same
/// GPUs if the request has expert parallelism, and batches up to the first that does not fit.
[[nodiscard]] std::vector<ServingPoint> serve_steadily(const Architecture& architecture,
                                                       const Load& load, const Engine& engine,
                                                       const model::Machine& machine,
                                                       std::int64_t usable);

}  // namespace ridge::programs
