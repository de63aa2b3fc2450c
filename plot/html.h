// A chart as one HTML file that works offline.
//
// The page draws each chart as wide as the window allows. It zooms (buttons, two fingers, Ctrl and
// the wheel), pans by dragging, switches series with the legend, and shows the terms of the nearest
// point or roof (pointer, finger, arrow keys): next to it if that covers no other point, otherwise
// below the chart. Names and numbers of points appear if there is room. A table below the charts
// with the same axes lists every point and roof and is sorted by clicking a heading; if it would be
// wider than the page, its rows become cards. Light or dark follows the reader's setting; printed
// pages are light.
//
// All text is escaped and set through textContent from a JSON block in which every `<` is \u003c,
// and a Content-Security-Policy forbids everything except the page's own style and script. Without
// scripts, the picture and the table are complete. The files of the page are in plot/page/.
#pragma once

#include <span>
#include <string>

#include "plot/chart.h"

namespace ridge::plot {

[[nodiscard]] std::string render_html(std::span<const Chart> charts);

}  // namespace ridge::plot
