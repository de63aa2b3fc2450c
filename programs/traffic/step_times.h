// The time of any step that a scheduler makes, by interpolation: simulations need millions.
//
//   StepTimes times(parts, engine);
//   const StepBatch batch{.decodes = 64, .context = 64 * 1800, .prompts = {{512, 1024}}};
//   times.gpu(batch), times.wall(batch)
//
// Method: the parts of a step (step_parts.h) are predicted when they are first needed, at sizes that
// double in four steps (1, 2, 3, 4, 5, 6, 7, 8, 10, ...; caches in two), and interpolated linearly
// between them. With
// p pipeline stages the sequences form p equal micro-batches, each in another stage; a step of all of
// them takes as long as one micro-batch needs through all stages.
// Limits: the test "interpolated steps" holds the error: 4 % of a step, 1 % on average.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "programs/traffic/step_parts.h"

namespace ridge::programs {

/// New tokens of a prompt, after `cached` of the same sequence.
struct PromptChunk {
    std::int64_t tokens = 0;
    std::int64_t cached = 0;
    bool last = false;  ///< ends the prompt, so that a token is sampled
};

struct StepBatch {
    std::int64_t decodes = 0;           ///< sequences that decode
    std::int64_t context = 0;           ///< tokens in their caches, all together
    std::int64_t encoded = 0;           ///< tokens that the encoder makes of images
    std::int64_t frames = 0;            ///< images, or frames taken together, of which these are
    std::int64_t adapters = 0;          ///< that the step's tokens use
    std::int64_t fetched_adapters = 0;  ///< of these, copied from the host for this step
    std::vector<PromptChunk> prompts{};

    [[nodiscard]] std::int64_t prompt_tokens() const;
    [[nodiscard]] std::int64_t sampled() const;  ///< sequences that get a token
    /// Mean of the caches that its prompts' tokens see, by tokens; 0 without prompts.
    [[nodiscard]] std::int64_t prompt_cached() const;
    [[nodiscard]] std::int64_t mean_context() const;  ///< of the decoding sequences, at least 1
};

class StepTimes {
  public:
    StepTimes(StepParts parts, Engine engine);

    /// Of the kernels.
    [[nodiscard]] Time gpu(const StepBatch& batch);
    /// With the engine's host.
    [[nodiscard]] Time wall(const StepBatch& batch);
    /// The same without interpolation, for tests and reports; without pipeline stages.
    [[nodiscard]] Time exact(const StepBatch& batch) const;

    [[nodiscard]] const StepParts& parts() const { return parts_; }
    [[nodiscard]] const Engine& engine() const { return engine_; }
    /// Parts that were predicted so far.
    [[nodiscard]] std::int64_t predicted() const { return predicted_; }

  private:
    enum class Table : std::uint8_t {
        decode_layers,
        prompt_layers,
        head,
        decode,
        prompt,
        draft,
        hop,
        encoder,
        adapters
    };
    [[nodiscard]] double along(Table table, std::int64_t size, int second);
    [[nodiscard]] double between(Table table, std::int64_t first, std::int64_t second);
    [[nodiscard]] double node(Table table, int first, int second);
    [[nodiscard]] double predict(Table table, std::int64_t first, std::int64_t second) const;
    [[nodiscard]] Time kernels(const StepBatch& batch);
    [[nodiscard]] StepBatch micro_batch(const StepBatch& batch) const;
    [[nodiscard]] Time step(const StepBatch& batch, Time busy) const;
    [[nodiscard]] std::optional<Time> mixed(const StepBatch& batch) const;
    [[nodiscard]] double besides(const StepBatch& batch);
    [[nodiscard]] Time exact_gpu(const StepBatch& batch) const;

    StepParts parts_;
    Engine engine_;
    std::array<std::vector<std::vector<double>>, 9> tables_{};
    std::shared_ptr<StepTimes> drafter_{};  ///< of the model that drafts: its prompts
    Time fetch_adapter_{};
    std::int64_t predicted_ = 0;
};

}  // namespace ridge::programs
