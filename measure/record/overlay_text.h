// Writes an overlay description as text: a header, the sources that its fields name, and sections.
//
//   overlay_text({.name = "h100-sxm.measured", .over = "h100-sxm", .title = ..., .vendor = ...,
//                 .comment = "Measured ceilings; written by ridge calibrate.",
//                 .sources = {{"RUN", "ridge 0.1.0 on one NVIDIA H100"}}}, sections)
//
// Limits: every source has the kind "measured".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::measure {

struct OverlayHeader {
    std::string name;
    std::string over;  ///< the catalogue's name of the device that the overlay adds to
    std::string title;
    std::string vendor;
    std::string comment;  ///< first line of the file
    std::vector<std::pair<std::string, std::string>>
        sources{};  ///< pairs of the name that fields use and the text
};

/// The whole file; `sections` is TOML.
[[nodiscard]] std::string overlay_text(const OverlayHeader& header, std::string_view sections);

/// The text as a TOML basic string.
[[nodiscard]] std::string quoted_toml(std::string_view text);

}  // namespace ridge::measure
