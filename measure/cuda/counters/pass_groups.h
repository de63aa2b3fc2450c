// A profiler configuration whose passes the caller chooses: each group of metrics is one pass.
//
// Method: the profiler's host functions distribute metrics over passes freely, even one ratio over
// two. The library below them (libnvperf_host.so, part of CUPTI) accepts groups: the raw counters
// that each metric depends on are added group by group.
//
//   const std::vector<std::uint8_t> image = image_of_groups("GH100", groups);  // empty: impossible
//
// Limits: a metric may be in only one group. If a group takes more than one pass, there is no
// image.
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
