// The memory of each GPU of a plan as stacked bars, beside what the GPU can hold.
#pragma once

#include "answers/plan.h"
#include "plot/chart.h"

namespace ridge::cli {

/// One bar for each row; a mark shows the usable memory of its GPU. Rows of which nothing is known
/// are left out.
[[nodiscard]] plot::Chart plan_memory_chart(const answers::Plan& plan);

}  // namespace ridge::cli
