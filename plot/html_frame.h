// The frame of every page: what comes before and after its content, and the data of its charts.
//
//   page_start("title") + "<figure>" + render_svg(chart, SvgUse::page) + "</figure>" +
//       page_end(page_data(charts));
//
// The scripts replace the figures, in order, by live charts.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "plot/chart.h"

namespace ridge::plot {

/// Everything up to the open <main>: the policy that forbids outside resources, and the styles.
[[nodiscard]] std::string page_start(std::string_view title);

/// The JSON from which the scripts draw.
[[nodiscard]] std::string page_data(std::span<const Chart> charts);

/// The table of the charts' points; `first` is the index of their first item on the page.
[[nodiscard]] std::string points_table(std::span<const Chart> charts, std::size_t first);

/// Whether a cell's text stays on one line: "43.6 ms" is not broken before its unit.
[[nodiscard]] bool is_short(std::string_view text);

/// Everything from the end of <main>: the data and the scripts.
[[nodiscard]] std::string page_end(const std::string& data);

}  // namespace ridge::plot
