// Work and traffic of a recurrence: its convolution, its scan, or both.
//
//   const Recurrence op{.seq = 4096, .k_heads = 16, .v_heads = 32};
//   recurrence_work(op).tensor      // 6 x 4096 x 32 x 128 x 128 = 12.9 GFLOP
//   recurrence_bytes(op).state      // 32 x 128 x 128 x 4 bytes for one sequence
//
// Method: docs/model.md Y1 to Y4. The FLOP are those of the recurrence itself, token by token; a
// kernel of the prompt takes chunks of tokens at once, which costs more and runs on tensor cores.
// Limits: no projections, norm or output gate; the state is in fp32.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

/// Bytes of each tensor that the operation reads or writes once, except the state and the window,
/// which are read and written.
struct RecurrenceBytes {
    double inputs = 0.0;   ///< q, k, v
    double gates = 0.0;    ///< decays and step sizes
    double window = 0.0;   ///< last tokens of each sequence, for the convolution
    double state = 0.0;    ///< of all sequences and heads
    double outputs = 0.0;  ///< convolved channels, or results
};
[[nodiscard]] RecurrenceBytes recurrence_bytes(const Recurrence& op);

/// FLOP of a chunked kernel, beside those of the recurrence itself, in whole chunks. (Y3)
[[nodiscard]] Flop chunked_flop(const Recurrence& op);

[[nodiscard]] Work recurrence_work(const Recurrence& op);

}  // namespace ridge::model
