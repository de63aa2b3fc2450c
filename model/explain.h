// The explanation of a prediction in sentences, as a pure function of the prediction.
//
//   for (const std::string& line : explain(op, prediction, machine)) ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// Whether DRAM serves a share of the data that is large enough to report.
[[nodiscard]] bool uses_dram(const Work& work);

/// Whether L2 rather than DRAM serves most of the data. (R2)
[[nodiscard]] bool served_from_l2(const Work& work);

/// FLOP per DRAM byte; empty if L2 serves the data.
[[nodiscard]] std::optional<Intensity> dram_intensity(const Prediction& prediction);

/// One note in words.
[[nodiscard]] std::string describe(const Note& note);

/// "138 us of tensor work: 137 GFLOP at 989 TFLOP/s".
[[nodiscard]] std::string describe(const Term& term);

/// What bounds the operation and why, its tiles and waves, and what the band is based on.
[[nodiscard]] std::vector<std::string> explain(const Operation& operation,
                                               const Prediction& prediction,
                                               const Machine& machine);

}  // namespace ridge::model
