// Kernels that Nsight Compute profiled, as CSV:
//
//   ncu --csv --page raw --metrics gpu__time_duration.sum,dram__bytes.sum python step.py > kernels.csv
//
// Both forms are read: one line per kernel with a second header line of units, and one line per kernel
// and metric ("Metric Name", "Metric Unit", "Metric Value"). Lines before the header, such as the
// program's own output, are passed over. Numbers may have thousands separators.
//
// Each kernel was run on its own, several times: the trace has durations and DRAM bytes, but no time
// line, no operators and no idle time; kernels stand one after another. What breaks in the middle ends
// the kernels and is told by `trace.read.damage`.
#pragma once

#include <string_view>

#include "programs/traces/trace.h"

namespace ridge::programs {

class ByteSource;

/// Whether a line is the header of such a table.
[[nodiscard]] bool is_nsight_compute_header(std::string_view line);

/// Reads nothing where no header comes.
void read_nsight_compute(ByteSource& source, Trace& trace);

}  // namespace ridge::programs
