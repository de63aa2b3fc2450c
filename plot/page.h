// The style and the scripts of chart pages: the files of plot/page/, embedded when ridge is built.
//
//   page_file("chart.js")
#pragma once

#include <span>
#include <string_view>

#include "hardware/embedded.h"

namespace ridge::plot {

/// All files, sorted by path; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> page_files();

/// The text of the file of this name.
[[nodiscard]] std::string_view page_file(std::string_view name);

}  // namespace ridge::plot
