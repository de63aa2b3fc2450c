// The explanation of a prediction in sentences: a pure function of its value.
//
//   for (const std::string& line : explain(op, prediction, machine)) ...
#pragma once

#include <string>
#include <vector>

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// One note in words.
[[nodiscard]] std::string describe(const Note& note);

/// "138 us of tensor work: 137 GFLOP at 989 TFLOP/s".
[[nodiscard]] std::string describe(const Term& term);

/// What bounds the operation and why, tiles and waves, what the band rests on.
[[nodiscard]] std::vector<std::string> explain(const Operation& operation,
                                               const Prediction& prediction,
                                               const Machine& machine);

}  // namespace ridge::model
