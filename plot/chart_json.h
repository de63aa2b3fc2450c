// Charts as JSON for the script of a page.
//
// Numbers are written so that they read back exactly; a mark, curve or annotation with an `Item`
// gives its index in `items`. The text is safe inside a script element.
#pragma once

#include <cstddef>
#include <string>

#include "plot/chart.h"
#include "plot/svg.h"

namespace ridge::plot {

/// Words that the page's script and the SVG classes use: "vermillion", "dash_dot", "triangle",
/// "measured".
[[nodiscard]] std::string_view name_of(Color color);
[[nodiscard]] std::string_view name_of(Dash dash);
[[nodiscard]] std::string_view name_of(Marker marker);
[[nodiscard]] std::string_view name_of(Origin origin);

/// `first` is the index of the chart's first item among the items of all charts.
[[nodiscard]] std::string to_json(const Chart& chart, std::size_t first);
[[nodiscard]] std::string to_json(const Item& item);

}  // namespace ridge::plot
