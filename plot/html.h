// A chart as one HTML file that works offline.
//
// The page holds the SVG, a table of the points and roofs, and a small script: hovering a point or
// a roof shows its terms, as does the keyboard (Tab into the chart, arrow keys from point to point,
// Escape to close). Light or dark follows the reader's setting; on paper it is light, with the
// table.
//
// All text is escaped, tooltips are filled through textContent from a JSON block whose `<` are
// \u003c, and a Content-Security-Policy forbids everything but the page's own style and script.
// Without scripts the picture and the table are complete.
#pragma once

#include <string>

#include "plot/chart.h"

namespace ridge::plot {

[[nodiscard]] std::string render_html(const Chart& chart);

}  // namespace ridge::plot
