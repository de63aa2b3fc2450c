// What would help: changes of shape, type or implementation, each with its predicted time.
//
//   for (const Advice& advice : advise(op, execution, prediction, machine)) {
//       describe(advice)   // "pad n from 50257 to 50304: 7.9x faster (4.87 ms)"
//   }
//
// Method: every candidate is predicted like the operation itself, and those that gain more than
// 5 % are kept, the best first. Nothing is said that was not computed. For a matmul: n, k and m
// padded to whole 16-byte rows and tile edges, one partial tile less, the library instead of a
// bundled kernel, a cheaper type; for others: fused instead of unfused, an attention that keeps the
// scores on chip, a narrower type; for all: replay in a graph instead of calls in a stream.
//
// Limits: some changes alter the result (a narrower type, one row less); the text says what is
// changed, and the reader decides. Costs about twenty predictions.
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

/// Gains below this are not worth a word.
inline constexpr double least_speed_up = 1.05;

[[nodiscard]] std::vector<Advice> advise(const Operation& operation, const Execution& execution,
                                         const Prediction& prediction, const Machine& machine);

[[nodiscard]] std::string describe(const Advice& advice);

}  // namespace ridge::model
