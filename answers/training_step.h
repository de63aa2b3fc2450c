// A training step on several GPUs: copies, shares of products, experts and sequences, and stages of a
// pipeline with micro-batches.
//
//   const TrainingStep step = training_step(architecture, request, {.pipeline = 4, .micro_batches = 8},
//                                           machine, host);
//   step.wall, step.exposed, step.pipeline->bubble
//
// Method: a stage's passes are those of a model with its layers (embedding on the first, head on the
// last), on GPU and host; `run_pipeline` replays them (W22 of docs/models.md). What follows the last
// backward pass, the reductions over copies that are not hidden and the optimizer, is that of the
// slowest stage. Without a pipeline, the step itself is replayed (programs/model_step.h), and each
// micro-batch before the last is a step without an optimizer.
// Limits: stages hold whole layers; their number of layers differs by one at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answers/plan.h"
#include "programs/model_step.h"
#include "programs/replay/pipeline.h"

namespace ridge::answers {

/// What a request does not say: the request's batch is one micro-batch of one copy.
struct TrainingShape {
    std::int64_t pipeline = 1;  ///< stages, or ranks of an interleaved pipeline
    std::int64_t parts = 1;     ///< stages of each rank, with an interleaved schedule
    std::int64_t context = 1;   ///< GPUs that share each sequence
    std::int64_t micro_batches = 1;
    programs::Schedule schedule = programs::Schedule::one_f_one_b;
};

struct TrainingStep {
    programs::ModelStep step;    ///< of the last stage, or of the whole model
    programs::StepTime time;     ///< of it, for one micro-batch
    std::optional<Spread> wall;  ///< of the whole step; none: `reason` says why
    Time host{};                 ///< of the rank whose host has most to dispatch
    Time communication{};        ///< of one rank, with sends
    Time exposed{};              ///< of it, while no kernel runs beside it
    Time at_peak{};  ///< of a pipeline's stages, one micro-batch: products at their peaks (W10)
    std::optional<programs::PipelineRun> pipeline{};
    std::string reason{};
};

/// Bytes that each rank of a pipeline needs at most: weights, gradients and states of its stages, and the
/// activations of the micro-batches that it holds. (W22)
[[nodiscard]] std::vector<std::int64_t> memory_of_ranks(const programs::Architecture& architecture,
                                                        programs::Request request,
                                                        const TrainingShape& shape,
                                                        const programs::PipelineRun& run);

/// Throws InputError for more stages than layers, and for micro-batches that a schedule cannot have.
[[nodiscard]] TrainingStep training_step(const programs::Architecture& architecture,
                                         programs::Request request, const TrainingShape& shape,
                                         const model::Machine& machine, const programs::Host& host);

/// Layers `from` to `to` of a model, with embedding and head.
[[nodiscard]] programs::Architecture layers_between(const programs::Architecture& architecture,
                                                    std::int64_t from, std::int64_t to);

}  // namespace ridge::answers
