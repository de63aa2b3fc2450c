// The key of a chart as lines of text: what each number on the chart means.
//
// A table with headings: the number and the values are aligned to the right of their columns, the
// name to the left. Two or more tables are placed side by side if the page is wide enough. Nothing
// is cut: a name that is too wide for the page continues on the next line.
#pragma once

#include "plot/layout.h"

namespace ridge::plot {

inline constexpr double page_edge = 16.0;    ///< left and right margin of everything
inline constexpr double line_height = 17.0;  ///< of notes, samples and the key

/// Adds the key below the page of `layout`, which grows; does nothing if the key has no rows.
void add_key(Layout& layout, const Key& key);

}  // namespace ridge::plot
