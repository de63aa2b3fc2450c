// One layout of a model on some GPUs, with its memory and its time.
//
//   Serving serving(architecture, question, place, layout);
//   serving.row(32);                      // 32 sequences in each copy
//   training_row(architecture, question, place, layout);   // with its micro-batch
//
// Method: steps of programs/model_step.h. Memory is what is in use at the peak of the step. What
// PyTorch's allocator keeps beyond that does not count, because it gives cached segments back
// before it fails. The 80 % band of a time is that of its kernels; the host's part has none.
#pragma once

#include <array>
#include <cstdint>

#include "answers/plan.h"

namespace ridge::answers {

/// A row without answers, for a layout on a GPU.
[[nodiscard]] PlanRow row_of(const Place& place, const Layout& layout);

/// The share of each grade of evidence in the time of the kernels.
[[nodiscard]] std::array<double, 4> evidence_of(const programs::Totals& total);

/// The wall time of a step with the band of its kernels.
[[nodiscard]] Spread spread_of(const programs::StepTime& time);
[[nodiscard]] Spread operator+(const Spread& a, const Spread& b);
[[nodiscard]] Spread operator*(double factor, const Spread& spread);

/// Memory of a step at its peak. Everything that is not named otherwise counts as activations.
[[nodiscard]] MemoryNeed need_of(const programs::StepMemory& memory);

/// A served model in one layout; the prefill is predicted once for all batches.
class Serving {
  public:
    Serving(const programs::Architecture& architecture, const PlanQuestion& question,
            const Place& place, const Layout& layout);

    /// `batch` sequences in each copy. Without a time if it does not fit or is not modelled.
    [[nodiscard]] PlanRow row(std::int64_t batch) const;

  private:
    /// The time in which every sequence of a copy gets a token: one step, or the way through all
    /// stages. (W17)
    [[nodiscard]] std::optional<Spread> round(const programs::StepTime& time,
                                              std::int64_t group) const;
    [[nodiscard]] programs::Request request(programs::Phase phase) const;

    /// Bytes of the weights of a stage on one GPU.
    [[nodiscard]] std::int64_t weights_of_stage(const programs::Architecture& architecture,
                                                std::int64_t index) const;

    std::int64_t widest_ = 0;       ///< weights of the stage that holds most
    programs::Architecture stage_;  ///< of the pipeline; without one, the model
    const PlanQuestion& question_;
    const Place& place_;
    Layout layout_;
    std::int64_t prefill_activations_ = 0;
    std::optional<Spread> prefill_;  ///< of one stage
    std::optional<Spread> sent_;     ///< a prompt's activations to the next stage
    std::string reason_;
};

/// Bytes of a layout's weights, gradients and optimizer states, counted from the model's weights: what
/// training or adapters need at least. Tells without a step that a layout does not fit.
[[nodiscard]] std::int64_t least_memory(const programs::Architecture& architecture,
                                        const PlanQuestion& question, const Layout& layout);

/// Memory of a training step, and whether it fits, without a time.
[[nodiscard]] PlanRow training_need(const programs::Architecture& architecture,
                                    const PlanQuestion& question, const Place& place,
                                    const Layout& layout);

/// A training step with the micro-batch and the accumulation of the layout.
[[nodiscard]] PlanRow training_row(const programs::Architecture& architecture,
                                   const PlanQuestion& question, const Place& place,
                                   const Layout& layout);

/// The memory of adapters on frozen weights, without a time.
[[nodiscard]] PlanRow adapter_need(const programs::Architecture& architecture,
                                   const PlanQuestion& question, const Place& place,
                                   const Layout& layout);

/// A step of adapters on frozen weights (LoRA), which may be quantised (QLoRA).
[[nodiscard]] PlanRow adapter_row(const programs::Architecture& architecture,
                                  const PlanQuestion& question, const Place& place,
                                  const Layout& layout);

/// Adds the reserve and decides whether the row fits.
void judge_memory(PlanRow& row, std::int64_t reserve);

/// Sequences of one copy, if a batch was asked for: rounded up in serving; empty in training if the
/// copies cannot share the batch evenly.
[[nodiscard]] std::optional<std::int64_t> sequences_of_copy(const PlanQuestion& question,
                                                            const Layout& layout);

}  // namespace ridge::answers
