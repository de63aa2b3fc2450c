// A step of a pipeline, replayed: which rank works on which micro-batch when, and where it waits.
//
//   const PipelineShape shape{.ranks = 4, .micro_batches = 8, .send = 20.0 * us};
//   const std::vector<StageTimes> stages(4, {.forward = {2.0 * ms, 1.0 * ms}, .backward = {4.0 * ms, 2.0 * ms}});
//   const PipelineRun run = run_pipeline(stages, shape);
//   run.time, run.bubble      // share of the ranks' time in which they wait for others
//
// Method (W22 of docs/models.md): each rank works through its list of blocks in order: the forward or
// backward pass of one micro-batch through one of its stages. A block begins on the GPU when the block
// before has ended, its input has come from the neighbour (whose end it follows by `send`) and the host
// has begun to dispatch it; it ends when GPU and host are done with it. The host never waits for other
// ranks. The lists are those of torch.distributed.pipelining: GPipe; 1F1B (Narayanan et al., SC 2021,
// section 2.2); interleaved 1F1B, with several stages on each rank; and interleaved zero bubble (Qi et
// al., ICLR 2024), whose backward pass is cut into the gradients of inputs, which the neighbour waits
// for, and those of weights.
//
// Limits: a rank's sends do not slow its kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hardware/quantity.h"

namespace ridge::programs {

enum class Schedule : std::uint8_t { gpipe, one_f_one_b, interleaved, zero_bubble };

[[nodiscard]] std::string_view name_of(Schedule schedule);
/// Of "gpipe", "1f1b", "interleaved" or "zero-bubble"; InputError, naming the option, for others.
[[nodiscard]] Schedule find_schedule(std::string_view name);

enum class BlockKind : std::uint8_t { forward, backward, weights };

/// A block alone: on the GPU, and the host's time to dispatch it.
struct BlockTime {
    Time gpu{};
    Time host{};
};

/// One stage and one micro-batch. `weights` is the part of `backward` that zero bubble puts off.
struct StageTimes {
    BlockTime forward{};
    BlockTime backward{};
    BlockTime weights{};
};

struct PipelineShape {
    std::int64_t ranks = 1;
    std::int64_t micro_batches = 1;
    Schedule schedule = Schedule::one_f_one_b;
    std::int64_t parts = 1;  ///< stages of each rank (interleaved, zero bubble)
    Time send{};             ///< of the activations, or their gradient, to the next stage
};

struct Block {
    BlockKind kind = BlockKind::forward;
    std::int64_t stage = 0;  ///< of the whole model, from 0
    std::int64_t micro = 0;
    Time from{};
    Time to{};
};

struct PipelineRun {
    Time time{};                            ///< until the last rank is done
    std::vector<std::vector<Block>> ranks;  ///< blocks of each rank in their order
    std::vector<Time> busy;                 ///< of each rank
    std::vector<Time> host;                 ///< of each rank, of dispatch alone
    std::vector<std::int64_t> in_flight;    ///< most micro-batches whose activations a rank holds
    double bubble = 0.0;                    ///< mean share of `time` in which a rank does nothing
};

/// `stages` has ranks x parts members, in the model's order; stage s lies on rank s mod ranks.
/// InputError when an interleaved schedule has micro-batches that are no multiple of its rounds.
[[nodiscard]] PipelineRun run_pipeline(std::span<const StageTimes> stages,
                                       const PipelineShape& shape);

}  // namespace ridge::programs
