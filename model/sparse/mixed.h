// Work and roofline of attention over a mixed step (A1, A2 over the chunk and over the decoding sequences).
//
//   const Work work = mixed_work(op);
//   work.tensor                      // 4 x head_dim FLOP of every score that the mask leaves
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

struct MixedBytes {
    double queries = 0.0;  ///< also of the result
    double keys = 0.0;     ///< and values, each once
};
[[nodiscard]] MixedBytes mixed_bytes(const MixedAttention& op);
[[nodiscard]] Work mixed_work(const MixedAttention& op);

[[nodiscard]] Outcome predict(const MixedAttention& op, const Execution& execution,
                              const Machine& machine);

}  // namespace ridge::model
