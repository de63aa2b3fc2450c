// Rows as a table of a page: what a person sees of them, sorted by their numbers.
#pragma once

#include <string>

#include "cli/console/rows.h"
#include "plot/report.h"

namespace ridge::cli {

/// Each row marks the point of a chart that has the name of its first cell.
[[nodiscard]] plot::ReportTable report_table(const Rows& rows, std::string caption,
                                             std::string note);

}  // namespace ridge::cli
