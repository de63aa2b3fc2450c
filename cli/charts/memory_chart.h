// A timeline of allocations as a chart: requested, allocated and reserved memory, step by step.
#pragma once

#include <optional>
#include <string>

#include "hardware/quantity.h"
#include "model/allocator/memory_plan.h"
#include "plot/chart.h"

namespace ridge::cli {

/// `capacity` becomes a line across the chart if it is near enough to be seen.
[[nodiscard]] plot::Chart memory_chart(const std::string& title, const model::MemoryPlan& plan,
                                       const model::MemoryTimeline& timeline,
                                       std::optional<Bytes> capacity);

}  // namespace ridge::cli
