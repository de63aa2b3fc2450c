// Charts of a simulated server: latency against the load, and batch and queue over time.
#pragma once

#include <vector>

#include "answers/traffic.h"
#include "plot/chart.h"

namespace ridge::cli {

/// Latency against rate or concurrency, with several loads; the timeline of the last load.
[[nodiscard]] std::vector<plot::Chart> traffic_charts(const answers::TrafficAnswer& answer);

}  // namespace ridge::cli
