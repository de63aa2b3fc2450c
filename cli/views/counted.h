// Hardware counters of a recorded program: its kernels on the roofline of each memory level, as measured.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/console/context.h"
#include "hardware/json.h"
#include "programs/report/trace_report.h"

namespace ridge::cli {

/// Rates that the kernels reached in the free run, by the bytes and FLOP that were counted; nothing where
/// nothing was counted. `rows` kernels, 0 for all.
void write_counted(const Context& context, const programs::TraceReport& report, std::size_t rows);

/// Counters sampled over time, the whole span in at most 20 slices; nothing where none were.
void write_samples(const Context& context, const programs::TraceReport& report);

[[nodiscard]] Json to_json(const std::vector<programs::DeviceSample>& samples);

/// Counters of one launch.
[[nodiscard]] Json to_json(const programs::KernelCounters& counters);

}  // namespace ridge::cli
