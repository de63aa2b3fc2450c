// Work and traffic of a block of experts on its busiest GPU, without times.
//
//   const Moe op{.tokens = 1024, .hidden = 7168, .intermediate = 2048, .topk = 8, .experts = 256};
//   moe_load(op).pairs       // 8192 rows over all experts
//   moe_work(op).flop()      // 6 x 8192 x 7168 x 2048 = 722 GFLOP
//
// Method: docs/model.md X1 to X4. A pair is one token at one of its experts. It is a row of the
// grouped products, up (hidden -> 2 x intermediate, with the gate) and down (intermediate ->
// hidden).
//
// Limits: tokens in 16 bits outside the experts; no shared expert, no communication.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/moe/load.h"

namespace ridge::model {

/// Bytes of one expert's weights on this GPU, including scales: 3 x hidden x inner elements, or 2
/// without a gate.
[[nodiscard]] double expert_bytes(const Moe& op);

/// Bytes between the kernels.
struct MoeRows {
    double gathered = 0.0;  ///< input rows of the up product
    double gates = 0.0;     ///< its results
    double inner = 0.0;     ///< rows of the down product, in the experts' type
    double results = 0.0;   ///< its results
};
[[nodiscard]] MoeRows moe_rows(const Moe& op, const MoeLoad& load);

/// FLOP, compulsory bytes (tokens in and out, weights of the active experts), and the traffic of
/// the kernels as they pass rows through memory. (X1 to X4)
[[nodiscard]] Work moe_work(const Moe& op);

}  // namespace ridge::model
