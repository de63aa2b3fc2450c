// The style and the scripts of chart pages: the files of plot/page/, embedded when ridge is built.
// The scripts share one scope and run in the order given here.
#pragma once

#include <string_view>

namespace ridge::plot {

[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view dark_style();   ///< added to it for readers who prefer dark
[[nodiscard]] std::string_view print_style();  ///< added to it on paper

[[nodiscard]] std::string_view axes_script();
[[nodiscard]] std::string_view chart_script();
[[nodiscard]] std::string_view interaction_script();
[[nodiscard]] std::string_view spans_script();
[[nodiscard]] std::string_view table_script();
[[nodiscard]] std::string_view start_script();

}  // namespace ridge::plot
