#include "plot/sections.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "plot/html_frame.h"
#include "plot/svg.h"
#include "plot/text.h"

namespace ridge::plot {
namespace {

std::string element(std::string_view tag, std::string_view text) {
    return text.empty() ? "" : fmt::format("<{0}>{1}</{0}>\n", tag, escape_markup(text));
}

std::string lead_of(std::string_view text) {
    return text.empty() ? "" : fmt::format("<p class=\"lead\">{}</p>\n", escape_markup(text));
}

std::string contents_of(const Sections& page) {
    if (page.sections.size() < 2) return "";
    std::string out = "<nav aria-label=\"Contents\"><ol>\n";
    for (const Section& section : page.sections) {
        out += fmt::format("<li><a href=\"#{}\">{}</a> <span>{}</span></li>\n",
                           escape_markup(section.id), escape_markup(section.title),
                           escape_markup(section.lead));
    }
    return out + "</ol></nav>\n";
}

std::string facts_of(const Section& section) {
    if (section.facts.empty()) return "";
    std::string out = "<dl class=\"facts\">\n";
    for (const auto& [term, text] : section.facts) {
        if (!text.empty()) out += element("dt", term) + element("dd", text);
    }
    return out + "</dl>\n";
}

/// Allows breaks in long names after '_' and '=', and nowhere else.
std::string breakable(std::string_view text) {
    std::string out;
    for (const char c : escape_markup(text)) {
        out += c;
        if (c == '_' || c == '=') out += "<wbr>";
    }
    return out;
}

std::string table_of(const TextTable& table) {
    std::string out = fmt::format("<div class=\"texts\"><table>\n{}<thead><tr>",
                                  element("caption", table.caption));
    for (const std::string& column : table.columns) {
        out += fmt::format("<th scope=\"col\">{}</th>", escape_markup(column));
    }
    out += "</tr></thead>\n<tbody>\n";
    for (const std::vector<std::string>& row : table.rows) {
        out += "<tr>";
        for (const std::string& cell : row) out += fmt::format("<td>{}</td>", breakable(cell));
        out += "</tr>\n";
    }
    return out + "</tbody></table></div>\n";
}

/// `first` is the index of the section's first item on the page.
std::string section_of(const Section& section, std::size_t first) {
    std::string out = fmt::format(
        "<section id=\"{}\"{}>\n<h1 class=\"part\">{}</h1>\n", escape_markup(section.id),
        section.beside ? " class=\"beside\"" : "", escape_markup(section.title));
    out += lead_of(section.lead);
    if (section.beside) out += "<div class=\"words\">\n";
    for (const std::string& paragraph : section.paragraphs) out += element("p", paragraph);
    out += facts_of(section);
    for (const TextTable& table : section.tables) out += table_of(table);
    if (section.beside) out += "</div>\n";
    if (section.charts.empty()) return out + "</section>\n";
    out += "<div class=\"charts\">\n";
    for (const Chart& chart : section.charts) {
        out += "<figure>\n" + render_svg(chart, SvgUse::page) + "</figure>\n";
    }
    return out + "</div>\n<details><summary>Numbers</summary>\n" +
           points_table(section.charts, first) + "</details>\n</section>\n";
}

}  // namespace

std::string render_sections(const Sections& page) {
    std::string out = page_start(page.title) + element("h1", page.title) + lead_of(page.lead);
    out += contents_of(page);
    std::vector<Chart> charts;
    std::size_t first = 0;
    for (const Section& section : page.sections) {
        out += section_of(section, first);
        for (const Chart& chart : section.charts) {
            first += items_of(chart).size();
            charts.push_back(chart);
        }
    }
    return out + page_end(page_data(charts));
}

}  // namespace ridge::plot
