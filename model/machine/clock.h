// The clock of the multiprocessors, derived from the peaks if a description does not state it.
//
//   boost_clock_of(catalogue().at("b100"))   // 60 TFLOP/s / (148 x 256 FLOP/clk) = 1584 MHz
//
// Method: `clock.boost`; else the clock at which the quoted FMA peaks follow from rate and number
// of multiprocessors; else `clock.tensor`, or the clock that follows from the tensor peaks.
#pragma once

#include "hardware/description.h"
#include "hardware/quantity.h"

namespace ridge::model {

/// The clock; zero if the description states nothing from which it follows.
[[nodiscard]] Frequency boost_clock_of(const hardware::Description& gpu);

}  // namespace ridge::model
