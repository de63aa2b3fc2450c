// Where the bars of a timeline are on a page, and how tall the page is.
#pragma once

#include <vector>

#include "plot/chart.h"
#include "plot/geometry.h"

namespace ridge::plot {

/// Lower pages leave no room for axes and legend.
inline constexpr double least_page_height = 240.0;

struct PageSize {
    double width = 960.0;
    double height = 640.0;
};

/// A bar, or several bars of one colour that are too close to be seen separately.
struct PlacedSpan {
    Rect box = {};
    Color color = Color::grey;
};

[[nodiscard]] std::vector<PlacedSpan> place_spans(const Chart& chart, const Rect& frame);

/// The page of a chart: `page`, but lower for a timeline with few lanes.
[[nodiscard]] PageSize page_of(const Chart& chart, PageSize page = {});

}  // namespace ridge::plot
