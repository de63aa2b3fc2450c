// What would make an operation faster: changes of shape, type or implementation, each with its
// predicted time.
//
//   for (const Advice& advice : advise(op, execution, prediction, machine)) {
//       describe(advice)   // "pad n from 50257 to 50304: 7.9x faster (4.87 ms)"
//   }
//
// Method: every candidate is predicted like the operation itself. Those that gain more than 5 % are
// kept, the best first. For a matmul the candidates are: n, k and m padded to whole 16-byte rows
// and tile edges, one partial tile less, the library instead of a bundled kernel, a cheaper type.
// For other operations: fused instead of unfused, an attention that keeps the scores on chip, a
// narrower type. For all: replay in a graph instead of calls in a stream.
//
// Limits: some changes alter the result (a narrower type, one row less). The text says what is
// changed and leaves the decision to the reader. It takes about twenty predictions.
#pragma once

#include <string>
#include <vector>

#include "model/predict.h"

namespace ridge::model {

struct Advice {
    std::string change;     ///< "pad n from 50257 to 50304"
    Time time;              ///< of the changed operation
    double speed_up = 1.0;  ///< time now / time then
};

/// Smaller gains are not reported.
inline constexpr double least_speed_up = 1.05;

[[nodiscard]] std::vector<Advice> advise(const Operation& operation, const Execution& execution,
                                         const Prediction& prediction, const Machine& machine);

[[nodiscard]] std::string describe(const Advice& advice);

}  // namespace ridge::model
