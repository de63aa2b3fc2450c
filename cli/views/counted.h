// Hardware counters of a recorded program: its kernels on the roofline of each memory level, as measured.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "hardware/json.h"
#include "programs/report/trace_report.h"

namespace ridge::cli {

/// What a kernel reached, as text and, where it was counted, in base units.
struct Reached {
    std::string text;
    std::optional<double> value = {};
};

constexpr std::array reached_columns = {"DRAM", "L2", "shared", "arithmetic", "FLOP/byte"};

/// How long a launch takes in the free run; its own time in the run that counted where that is another: one
/// grid may stand for launches of several sizes, of which one was counted. The row has counters.
[[nodiscard]] Time time_of_counted(const programs::OperatorRow& row);

/// One for each of `reached_columns`: counted bytes and FLOP of a launch over that time. The row has counters.
[[nodiscard]] std::array<Reached, reached_columns.size()> reached(const programs::OperatorRow& row);

/// Rates that the kernels reached in the free run, by the bytes and FLOP that were counted; nothing where
/// nothing was counted. `rows` kernels, 0 for all.
void write_counted(const Context& context, const programs::TraceReport& report, std::size_t rows);

/// Counters sampled over time, the whole span in at most 20 slices; nothing where none were.
void write_samples(const Context& context, const programs::TraceReport& report);

[[nodiscard]] Json to_json(const std::vector<programs::DeviceSample>& samples);

/// Counters of one launch.
[[nodiscard]] Json to_json(const programs::KernelCounters& counters);

}  // namespace ridge::cli
