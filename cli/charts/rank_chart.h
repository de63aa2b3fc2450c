// The ranks of a run below each other over time: computing, moving data, waiting.
#pragma once

#include "plot/chart.h"
#include "programs/report/rank_report.h"

namespace ridge::cli {

[[nodiscard]] plot::Chart rank_chart(const programs::RankReport& report);

}  // namespace ridge::cli
