// Cutting an attention call as an engine's dispatch says (`attention_walk.h`).
#pragma once

#include "model/core/operation.h"
#include "model/engine/attention_walk.h"
#include "model/machine/engine_law.h"

namespace ridge::model {

/// Tiles, blocks and parts of a call on so many multiprocessors. (docs/model.md G10, G12)
[[nodiscard]] WalkCut cut_attention(const Attention& op, const LawAttributes& attributes,
                                    std::int64_t sms);

}  // namespace ridge::model
