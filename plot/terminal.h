// A chart drawn with characters.
//
// Lines are braille dots (ASCII strokes on request); points are letters, explained in a list below:
// lower case for predicted, upper case for measured. Roofs carry their names if there is room;
// otherwise the names head the list. No line is wider than requested.
//
//   std::puts(render_terminal(chart, {.columns = 80, .rows = 24}).c_str());
#pragma once

#include <string>

#include "plot/canvas.h"
#include "plot/chart.h"

namespace ridge::plot {

struct TerminalOptions {
    int columns = 80;  ///< at least 40
    int rows = 22;     ///< of the drawing, without axis and list; at least 6
    Charset charset = Charset::unicode;
    Ink ink = Ink::plain;
};

/// Lines end with a newline.
[[nodiscard]] std::string render_terminal(const Chart& chart, const TerminalOptions& options = {});

}  // namespace ridge::plot
