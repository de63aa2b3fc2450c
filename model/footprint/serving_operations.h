// Tensors of the operations of serving engines: latent and sparse attention, experts, recurrences,
// operations on tokens.
#pragma once

#include "model/core/operation.h"
#include "model/footprint/footprint.h"

namespace ridge::model {

[[nodiscard]] Footprint footprint_of(const Mla& op);
[[nodiscard]] Footprint footprint_of(const SparseAttention& op);
[[nodiscard]] Footprint footprint_of(const MixedAttention& op);
[[nodiscard]] Footprint footprint_of(const Moe& op);
[[nodiscard]] Footprint footprint_of(const Recurrence& op);
[[nodiscard]] Footprint footprint_of(const TokenWise& op);

}  // namespace ridge::model
