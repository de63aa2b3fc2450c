// A page of sections: each with a text, terms, charts and a table of their numbers.
//
//   render_sections({.title = "Effects", .sections = {{.id = "tiling", .title = "Tiles", ...}}});
//
// With several sections, a table of contents comes first. The page is that of `html.h`: it works
// offline, text is escaped, and the same scripts switch and zoom.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plot/chart.h"

namespace ridge::plot {

/// Rows of text under a caption.
struct TextTable {
    std::string caption = {};
    std::vector<std::string> columns = {};
    std::vector<std::vector<std::string>> rows = {};
};

struct Section {
    std::string id = {};  ///< of its heading, for links; letters, digits and '-'
    std::string title = {};
    std::string lead = {};  ///< one sentence under the heading
    std::vector<std::string> paragraphs = {};
    std::vector<Chart> charts = {};
    std::vector<TextTable> tables = {};
    std::vector<std::pair<std::string, std::string>> facts = {};  ///< a term and its text
    bool beside = false;  ///< its charts stand beside the text where there is room
};

struct Sections {
    std::string title = {};
    std::string lead = {};
    std::vector<Section> sections = {};
};

[[nodiscard]] std::string render_sections(const Sections& page);

}  // namespace ridge::plot
