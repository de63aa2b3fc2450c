// Serving a model: time to the first token, time per token, throughput over batch sizes.
//
//   const auto points = serve(a, {.prompt = 2048, .answer = 256, .batches = {1, 2, 4}}, machine, 0);
//   points[i].batch, .ttft, .tpot, .tokens_per_s, .fits
//   best_within(points, {.ttft = 500.0 * units::ms, .tpot = 50.0 * units::ms});
//
// Method: each point is a prefill of one prompt and a decode step of the whole batch with half of
// the answer in its caches, as a serving engine runs them. In the steady state of continuous
// batching a sequence of `answer` tokens costs its prefill once and its share of the decode steps:
// the time per token is the decode step plus the prefills that come between, batch / answer of them
// for a step (W6 of docs/models.md). Identical layers are predicted once.
// Limits: no chunked prefill, no speculation, no disaggregation; all requests are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hardware/quantity.h"
#include "programs/model_step.h"

namespace ridge::programs {

struct Load {
    std::int64_t prompt = 2048;  ///< tokens
    std::int64_t answer = 256;
    Request request{};  ///< types, quantisation, experts in parallel; the rest is set here
    std::vector<std::int64_t> batches{};
    std::vector<std::int64_t> gpus{1};  ///< degrees of tensor parallelism
    Host host = host_beside("");
};

struct ServingPoint {
    std::int64_t batch = 0;
    std::int64_t gpus = 1;
    Time ttft;                  ///< a prompt's prefill
    Time tpot;                  ///< between two tokens of a sequence
    double tokens_per_s = 0.0;  ///< made, by all GPUs together
    std::int64_t bytes = 0;     ///< weights and caches on each GPU
    bool fits = true;
    bool front = false;  ///< no other point has a shorter tpot at as many tokens/s of a GPU

    [[nodiscard]] double per_gpu() const { return tokens_per_s / static_cast<double>(gpus); }
};

/// Points by GPUs, then batch. `usable`: memory of a GPU; zero: not asked. InputError where an
/// operation is not modelled on the GPU.
[[nodiscard]] std::vector<ServingPoint> serve(const Architecture& architecture, const Load& load,
                                              const model::Machine& machine, std::int64_t usable);

struct Targets {
    std::optional<Time> ttft{};
    std::optional<Time> tpot{};
};
/// The point with most tokens per second and GPU that fits and meets the targets.
[[nodiscard]] std::optional<ServingPoint> best_within(const std::vector<ServingPoint>& points,
                                                      const Targets& targets);

/// 1, 2, 4, ... up to `most`.
[[nodiscard]] std::vector<std::int64_t> doubling_batches(std::int64_t most);

}  // namespace ridge::programs
