// A chart as SVG.
//
// Several charts share one page: up to three are placed one below another, more in as many columns
// as bring the page closest to a square.
//
// The output is valid XML without references to anything outside; coordinates are rounded to two
// decimals, and the same chart always gives the same bytes. Every drawn element has a class
// (`roof`, `point`, `ridge`, `link`, `label`, ...) and, in a separate file, a <title> that viewers
// show on hover.
//
//   const std::string svg = render_svg(chart);
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plot/chart.h"
#include "plot/layout.h"

namespace ridge::plot {

/// A separate file starts with the XML declaration, contains its style and titles every mark.
/// Inside a page, the SVG uses the page's style and is shown when no script runs.
enum class SvgUse { file, page };

[[nodiscard]] std::string render_svg(const Chart& chart, SvgUse use = SvgUse::file,
                                     PageSize page = {});
[[nodiscard]] std::string render_svg(std::span<const Chart> charts, SvgUse use = SvgUse::file,
                                     PageSize page = {});

/// The SVG of a page, and its number of columns of charts.
struct SvgPage {
    std::string text = {};
    std::size_t columns = 1;
};

[[nodiscard]] SvgPage render_svg_page(std::span<const Chart> charts, SvgUse use = SvgUse::file,
                                      PageSize page = {});

/// "Performance (TFLOP/s) against Arithmetic intensity (FLOP/B): 3 points; roof DRAM ..."
[[nodiscard]] std::string description_of(const Chart& chart);

/// The text of a tooltip for one drawn element.
struct Item {
    std::string kind = {};  ///< "measured", "predicted", "roof", "reference", "ridge"
    std::string name = {};
    std::string series = {};
    std::string level = {};
    std::vector<Term> terms = {};  ///< coordinates first
};

/// Marks, then roofs and reference lines, then annotations.
[[nodiscard]] std::vector<Item> items_of(const Chart& chart);

/// Name and terms, one per line, as in the element `title`.
[[nodiscard]] std::string item_text(const Item& item);

/// Style rules for the classes of a chart on a light and on a dark page.
[[nodiscard]] std::string_view light_style_sheet();
[[nodiscard]] std::string_view dark_style_sheet();

}  // namespace ridge::plot
