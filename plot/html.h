// A chart as one HTML file that works offline.
//
// The page draws each chart as wide as the window allows. It zooms (buttons, two fingers, Ctrl and
// the wheel), pans by dragging, switches series by the legend, and shows the terms of the nearest
// point or roof (pointer, finger, arrow keys): beside it where that covers no other point, else
// below the chart. Names and numbers of points appear where there is room. A table beneath the charts of the same
// axes, sorted by a click on a heading, holds every point and roof; where it would be wider than
// the page its rows become cards. Light or dark follows the reader's setting; on paper it is light.
//
// All text is escaped and set through textContent from a JSON block whose `<` are \u003c, and a
// Content-Security-Policy forbids everything but the page's own style and script. Without scripts
// the picture and the table are complete. The files of the page are in plot/page/.
#pragma once

#include <span>
#include <string>

#include "plot/chart.h"

namespace ridge::plot {

[[nodiscard]] std::string render_html(std::span<const Chart> charts);

}  // namespace ridge::plot
