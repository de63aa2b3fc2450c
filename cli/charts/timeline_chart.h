// Compute, DRAM bandwidth and interconnect of GPUs by the year of their announcement.
//
//   const std::vector<TimelineEntry> entries = timeline(machines);
//   write_chart_output(context, output, timeline_chart(entries));
//
// All values are relative to the first GPU that has all three figures. A line follows the
// GPUs that were the fastest so far; it is fitted by least squares to their logarithms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/input/machines.h"
#include "hardware/quantity.h"
#include "plot/chart.h"

namespace ridge::cli {

struct TimelineEntry {
    std::string name;
    std::string announced;            ///< "2022-03"
    double year = 0.0;                ///< 2022.2
    std::optional<FlopRate> compute;  ///< dense 16-bit tensor peak, else fp16 or fp32 vector peak
    Bandwidth dram;
    std::optional<Bandwidth> link;  ///< one way
};

/// The devices with a date of announcement, by date. InputError if a date is not a year and
/// a month.
[[nodiscard]] std::vector<TimelineEntry> timeline(Machines& machines);

/// InputError when no entry has all three figures.
[[nodiscard]] plot::Chart timeline_chart(const std::vector<TimelineEntry>& entries);

}  // namespace ridge::cli
