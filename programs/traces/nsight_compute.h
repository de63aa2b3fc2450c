// Reads kernels that Nsight Compute profiled, as CSV:
//
//   ncu --csv --page raw --metrics gpu__time_duration.sum,dram__bytes.sum PROGRAM > kernels.csv
//
// Both forms are read: one line per kernel with a second header line of units, and one line per
// kernel and metric ("Metric Name", "Metric Unit", "Metric Value"). Lines before the header, such
// as the program's own output, are skipped. Numbers may have thousands separators.
//
// Each kernel was run on its own, several times: the trace has durations and DRAM bytes, but no
// timeline, no operators and no idle time; kernels follow one another. Damage ends the list of
// kernels and is reported in `trace.read.damage`.
#pragma once

#include <string_view>

#include "programs/traces/trace.h"

namespace ridge {
class ByteSource;
}

namespace ridge::programs {

/// Whether a line is the header of such a table.
[[nodiscard]] bool is_nsight_compute_header(std::string_view line);

/// Reads nothing if there is no header.
void read_nsight_compute(ByteSource& source, Trace& trace);

}  // namespace ridge::programs
