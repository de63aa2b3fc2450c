// Hardware counters of a recorded program: how its kernels use each memory level, as measured.
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

/// A rate that a kernel reached, as text and, if it was counted, in base units.
struct Reached {
    std::string text;
    std::optional<double> value = {};
};

constexpr std::array reached_columns = {"DRAM", "L2", "shared", "arithmetic", "FLOP/byte"};

/// Time of a launch in the free run, that is, the run without counters. If its time in the counting
/// run differs much, that time instead: one grid may stand for launches of several sizes, of which
/// one was counted. The row must have counters.
[[nodiscard]] Time time_of_counted(const programs::OperatorRow& row);

/// One for each of `reached_columns`: counted bytes and FLOP of a launch over `time_of_counted`.
[[nodiscard]] std::array<Reached, reached_columns.size()> reached(const programs::OperatorRow& row);

/// Writes the rates that the kernels reached in the free run, from counted bytes and FLOP. Writes
/// nothing if nothing was counted. Shows `rows` kernels, 0 for all.
void write_counted(const Context& context, const programs::TraceReport& report, std::size_t rows);

/// Writes counters sampled over time, in at most 20 slices of the span; nothing without samples.
void write_samples(const Context& context, const programs::TraceReport& report);

[[nodiscard]] Json to_json(const std::vector<programs::DeviceSample>& samples);

/// The counters of one launch.
[[nodiscard]] Json to_json(const programs::KernelCounters& counters);

}  // namespace ridge::cli
