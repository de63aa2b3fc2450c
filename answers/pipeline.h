// Pipeline stages and shares of a sequence (context parallelism), as parts of a plan's layout.
//
//   const Architecture stage = stage_of(architecture, 4);      // the layers of the last of 4 stages
//   handover(machine, 16 * hidden * 2)                         // to the next stage
//   share_sequence(step, 4, ...)                               // a step whose GPUs hold a quarter of each sequence
//
// Method. A pipeline is as fast as its slowest stage, here the last: ceil(layers / stages) layers
// and the head. Serving: the sequences of a copy go round in as many groups as there are stages, so
// that every stage works; a token takes stages x (stage + handover). Training replays blocks
// (training_step.h). The first stage keeps the activations of as many micro-batches as there are stages
// (W17, W18 of docs/models.md).
// Context parallelism: each GPU holds 1/c of every sequence; keys and values of a layer are gathered
// before its attention, forward and backward, and their gradients are summed; causal work is spread
// evenly (zigzag).
// Limits: serving was not compared with measurements. Stages hold whole layers and are not balanced around the
// head. Context parallelism is for training only; attention with a window counts as whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "answers/plan.h"
#include "programs/model_step.h"

namespace ridge::answers {

/// The last stage: the last ceil(layers / stages) layers. Its step includes the embedding, which
/// the stage does not hold (`without_embedding`).
[[nodiscard]] programs::Architecture stage_of(const programs::Architecture& architecture,
                                              std::int64_t stages);

/// The share of a stage's parameters that it really holds: all but the embedding, which the first
/// stage has, unless the head shares it.
[[nodiscard]] double without_embedding(const programs::Architecture& stage, std::int64_t stages);

/// The time to send `bytes` to the next stage; nothing if it is not modelled.
[[nodiscard]] std::optional<Spread> handover(const model::Machine& machine, std::int64_t bytes);

/// Bytes of the activations that leave a stage.
[[nodiscard]] std::int64_t handover_bytes(const programs::Architecture& architecture,
                                          std::int64_t tokens, model::DataType type);

/// Turns a training step of 1/`parts` of each sequence into that of a GPU which attends to the
/// whole: attention over `seq` tokens for its share of the queries, and the collectives of keys and
/// values.
void share_sequence(programs::ModelStep& step, std::int64_t parts, std::int64_t seq);

/// Bytes that the gathered keys and values of one layer, and their gradients, take at most.
[[nodiscard]] std::int64_t gathered_bytes(const programs::Program& program);

/// Why a step cannot be shared so: it mixes tokens by something else than attention.
[[nodiscard]] std::optional<std::string> cannot_share(const programs::Program& program);

}  // namespace ridge::answers
