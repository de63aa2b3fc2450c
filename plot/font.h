// The role of a text on a chart, which determines its size and weight.
//
//   font_size(FontRole::tick)   // pixels of the view box
#pragma once

#include "plot/text.h"

namespace ridge::plot {

enum class FontRole { title, subtitle, axis, tick, label, emphasis, detail, number };

[[nodiscard]] double font_size(FontRole role);
[[nodiscard]] Weight font_weight(FontRole role);

/// Estimated width in pixels of one line.
[[nodiscard]] inline double width_of(std::string_view text, FontRole role) {
    return text_width(text, font_size(role), font_weight(role));
}

}  // namespace ridge::plot
