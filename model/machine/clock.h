// The clock of the multiprocessors, also where a description does not state it.
//
//   boost_clock_of(catalogue().at("b100"))   // 60 TFLOP/s / (148 x 256 FLOP/clk) = 1584 MHz
//
// Method: `clock.boost`; else that at which the quoted FMA peaks follow from rate and number of
// multiprocessors; else `clock.tensor`, and what follows from the tensor peaks.
#pragma once

#include "hardware/description.h"
#include "hardware/quantity.h"

namespace ridge::model {

/// Zero where a description holds nothing that tells.
[[nodiscard]] Frequency boost_clock_of(const hardware::Description& gpu);

}  // namespace ridge::model
