// Serving a model: time to the first token, time per token, throughput over batch sizes.
//
//   const Load load{.prompt = 2048, .answer = 256, .batches = {1, 2, 4}};
//   const auto points = serve(a, load, machine, 0);
//   points[i].batch, .ttft, .tpot, .tokens_per_s, .fits
//   best_within(points, {.ttft = 500.0 * units::ms, .tpot = 50.0 * units::ms});
//
// Method: each point is a prefill of one prompt and a decode step of the whole batch with half of
// the answer in its caches, as a serving engine runs them. In the steady state of continuous
// batching, a sequence of `answer` tokens costs one prefill and its share of the decode steps: the
// time per token is the decode step plus the prefills in between, batch / answer per step (W6 of
// docs/models.md). Identical layers are predicted once.
// Limits: no chunked prefill, no speculative decoding, no disaggregation; all requests have the
// same size.
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
    Request request{};  ///< types, quantisation, expert parallelism; `serve` sets the rest
    std::vector<std::int64_t> batches{};
    std::vector<std::int64_t> gpus{1};  ///< degrees of tensor parallelism
    Host host = host_beside("");
};

struct ServingPoint {
    std::int64_t batch = 0;
    std::int64_t gpus = 1;
    Time ttft;                  ///< time of the prefill of a prompt
    Time tpot;                  ///< between two tokens of a sequence
    double tokens_per_s = 0.0;  ///< tokens generated, on all GPUs together
    Energy per_token{};         ///< on all GPUs together; zero: not known
    std::int64_t bytes = 0;     ///< weights and caches on each GPU
    bool fits = true;
    model::Grade evidence = model::Grade::datasheet;  ///< the weakest of prefill and decode
    bool front = false;  ///< no other point has a shorter tpot at as many tokens/s per GPU

    [[nodiscard]] double per_gpu() const { return tokens_per_s / static_cast<double>(gpus); }
};

/// Points ordered by number of GPUs, then by batch. `usable` is the memory of a GPU; zero: not
/// checked. Throws InputError if an operation is not modelled on the GPU.
[[nodiscard]] std::vector<ServingPoint> serve(const Architecture& architecture, const Load& load,
                                              const model::Machine& machine, std::int64_t usable);

/// Sets `front` of each point.
void mark_front(std::vector<ServingPoint>& points);

/// Between two tokens of a sequence, and for how much of that kernels run; zero: as long as those of the
/// model do.
struct TokenTime {
    Time between;
    Time busy{};
};

/// Energy of a token on all GPUs for each of `batch` sequences: its part of a decode step and of its
/// prompt's prefill above idle, and of the idle power (EN9 of docs/model.md). Zero if it is not known,
/// as for experts that several copies share.
[[nodiscard]] Energy energy_per_token(const Architecture& architecture, const Load& load,
                                      std::int64_t tensor, std::int64_t batch,
                                      const TokenTime& token, const model::Machine& machine);

struct Targets {
    std::optional<Time> ttft{};
    std::optional<Time> tpot{};
};
/// The point with the most tokens per second and GPU that fits and meets the targets.
[[nodiscard]] std::optional<ServingPoint> best_within(const std::vector<ServingPoint>& points,
                                                      const Targets& targets);

/// 1, 2, 4, ... up to `most`.
[[nodiscard]] std::vector<std::int64_t> doubling_batches(std::int64_t most);

}  // namespace ridge::programs
