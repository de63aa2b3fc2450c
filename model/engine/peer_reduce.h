// The law `peer_reduce`: an engine's all-reduce, by its own kernels over the memory of its peers or by
// the library, whichever is faster.
//
//   own = 0, when gpus > 2 and capability == 89       # GPUs without links of their own
//
// Method (docs/model.md G60): one-shot, every GPU reads all messages; two-shot, each GPU adds a part and
// reads the others' parts; the library's ring or its additions in the switch. Eager calls copy the
// message to a result of its own.
//
// Limits: one node; the crossover follows from the times, not from an engine's constants.
#pragma once

#include "model/engine/law_time.h"

namespace ridge::model {

[[nodiscard]] LawTime peer_reduce(const LawCall& call);

}  // namespace ridge::model
