// A configuration of the profiler whose passes are what the caller says: each group of metrics is one pass.
//
// Method: the profiler's host functions spread metrics over passes as they like, and a ratio even over
// two. The library below them (libnvperf_host.so, part of CUPTI) takes groups: the raw counters that
// each metric depends on are added group by group.
//
//   const std::vector<std::uint8_t> image = image_of_groups("GH100", groups);   // empty: not to be had
//
// Limits: a metric may stand in one group only. A group that takes more than one pass gives no image.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/counters/metrics.h"

namespace ridge::measure::cuda {

[[nodiscard]] std::vector<std::uint8_t> image_of_groups(
    const std::string& chip, std::span<const std::vector<Metric>> groups);

}  // namespace ridge::measure::cuda
