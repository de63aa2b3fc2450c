// The first rows of a diagnosis as bars: what the hardware needs at least, what such kernels take
// beyond that, and what is left to win.
#pragma once

#include "answers/diagnose.h"
#include "plot/chart.h"

namespace ridge::cli {

/// One bar for each of the first rows that are modelled; its parts add up to the measured time of
/// all calls.
[[nodiscard]] plot::Chart diagnosis_chart(const answers::Report& report);

}  // namespace ridge::cli
