// How many warps a multiprocessor holds, over the registers, the shared memory and the threads of a
// block: three charts with a mark where the kernel is.
//
//   write_chart_output(context, output, occupancy_charts(block, limits, "H100 SXM"));
#pragma once

#include <string>
#include <vector>

#include "model/machine/occupancy.h"
#include "plot/chart.h"

namespace ridge::cli {

[[nodiscard]] std::vector<plot::Chart> occupancy_charts(const model::BlockResources& block,
                                                        const model::SmLimits& limits,
                                                        const std::string& gpu);

}  // namespace ridge::cli
