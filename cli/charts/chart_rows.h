// The values that charts are drawn from, as rows for tables, JSON, CSV and Markdown.
//
//   write_rows(context, roofline_rows(charts.whole(type)), Format::csv);
//   write_rows(context, scatter_rows(scatter), Format::json);
//
// A roofline has a row for each roof and each point; other charts have a row for each point. Rates
// are in FLOP/s and B/s for programs, and in a suitable unit for people.
#pragma once

#include "cli/charts/record_charts.h"
#include "cli/console/rows.h"
#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/sweep.h"

namespace ridge::cli {

/// kind (roof, point), name, level, source and, if known, intensity, bandwidth, performance and the
/// ends of the band.
[[nodiscard]] Rows roofline_rows(const plot::Roofline& roofline);

/// class, question, measured time, ratio of predicted to measured time, ends of the ratio's band.
[[nodiscard]] Rows scatter_rows(const plot::Scatter& scatter);

/// class, question, source, the count on the x axis and the ordinate.
[[nodiscard]] Rows sweep_rows(const plot::Sweep& sweep, Ordinate ordinate);

}  // namespace ridge::cli
