// A heat map of the bandwidth between GPUs.
//
//   write_chart_output(context, output, link_chart(survey));
#pragma once

#include "measure/ranks/link_survey.h"
#include "plot/chart.h"

namespace ridge::cli {

/// Rows send, columns receive; the darker, the faster. Cells say GB/s; tooltips add both ways at once
/// and the latency of a load.
[[nodiscard]] plot::Chart link_chart(const measure::LinkSurvey& survey);

}  // namespace ridge::cli
