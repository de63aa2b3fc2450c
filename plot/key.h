// The key of a chart as lines of text: what each number on it stands for.
//
// A table with a heading: the number and the values end at the right of their columns, the name
// begins at the left. Two and more tables stand side by side where the page is wide enough. Nothing
// is cut: a name wider than the page has room for continues on the next line.
#pragma once

#include "plot/layout.h"

namespace ridge::plot {

inline constexpr double page_edge = 16.0;    ///< left and right of everything
inline constexpr double line_height = 17.0;  ///< of notes, samples and the key

/// Adds the key beneath the page of `layout`, which grows; nothing where the key has no rows.
void add_key(Layout& layout, const Key& key);

}  // namespace ridge::plot
