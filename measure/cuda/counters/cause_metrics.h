// The counters from which the causes of a kernel's time are found (kernel/causes), as data.
//
// Method: one table of metrics. Those named "sass" are counted by added instructions and share one
// pass with the FLOP counts. Each of the others has the number of a set; on GH100 a set takes one
// pass. CounterSets divides a set that takes more on another chip.
//
// Limits: an SM counts three reasons of stalled warps in one pass, so the reasons need five sets.
#pragma once

#include <span>
#include <vector>

#include "measure/cuda/counters/metrics.h"

namespace ridge::measure::cuda {

/// Counted by added instructions: bytes that the threads asked for, sectors, lanes, branches.
[[nodiscard]] std::span<const Metric> cause_metrics_of_software();

/// Fit beside the bytes of DRAM and L2 in one pass on GH100.
[[nodiscard]] std::span<const Metric> cause_metrics_beside_traffic();

/// Sets of one pass each, the most telling first.
[[nodiscard]] std::vector<std::vector<Metric>> cause_sets();

}  // namespace ridge::measure::cuda
