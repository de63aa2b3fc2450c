// The law `expert_block`: a block of experts as an engine runs it.
//
//   rows = 64, columns = 64, when tokens > experts / ep     # a tile of the grouped products
//
// Method (docs/model.md G40 to G44). Kernels score and sort the tokens, multiply them with the weights
// of their experts in two grouped products, apply the gate, and add the results. Each expert's rows are
// cut into tiles, so few rows in many experts fill them badly; tiles run in waves beside the stream of
// the weights of the experts that some token goes to. Where the dispatch names no tile, the best of five
// is taken, as a tuner finds it. With experts on several GPUs, some engines also treat the rows of the
// others' experts.
//
// Limits: tokens follow the law of their distribution, not a draw of it.
#pragma once

#include "model/engine/law_time.h"

namespace ridge::model {

[[nodiscard]] LawTime expert_block(const LawCall& call);

}  // namespace ridge::model
