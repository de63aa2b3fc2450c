#include "plot/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "plot/html_frame.h"
#include "plot/svg.h"
#include "plot/text.h"

namespace ridge::plot {
namespace {

/// The item of each mark by name: the measured one if there are two.
using Items = std::map<std::string, std::size_t, std::less<>>;

Items items_by_name(const std::vector<Chart>& charts) {
    Items items;
    std::size_t first = 0;
    for (const Chart& chart : charts) {
        for (std::size_t i = 0; i < chart.marks.size(); ++i) {
            const Mark& mark = chart.marks[i];
            if (mark.origin == Origin::measured) items.insert_or_assign(mark.name, first + i);
            items.emplace(mark.name, first + i);
        }
        first += items_of(chart).size();
    }
    return items;
}

std::string figures_of(const std::vector<Term>& figures) {
    if (figures.empty()) return "";
    std::string out = "<dl class=\"figures\">\n";
    for (const Term& term : figures) {
        out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_markup(term.name),
                           escape_markup(term.value));
    }
    return out + "</dl>\n";
}

std::string cell_of(const ReportCell& cell, bool name) {
    std::string classes = name                  ? "name"
                          : cell.number         ? "number"
                          : is_short(cell.text) ? "short"
                                                : "";
    std::string rest;
    if (cell.share) {
        classes += " bar";
        rest = fmt::format(" style=\"--share:{:.1f}%\"", 100.0 * std::clamp(*cell.share, 0.0, 1.0));
    }
    if (cell.number) rest += fmt::format(" data-v=\"{}\"", *cell.number);
    return fmt::format("<td{}{}>{}</td>",
                       classes.empty() ? "" : fmt::format(" class=\"{}\"", classes), rest,
                       escape_markup(cell.text));
}

/// A column without any text is left out.
std::vector<bool> filled_columns(const ReportTable& table) {
    std::vector<bool> filled(table.columns.size(), table.rows.empty());
    for (const ReportRow& row : table.rows) {
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            if (!row.cells[i].text.empty()) filled[i] = true;
        }
    }
    return filled;
}

std::string table_of(const ReportTable& table, const Items& items) {
    std::string out = fmt::format(
        "<section class=\"table\"><table>\n<caption>{}{}</caption>\n<thead><tr>",
        escape_markup(table.caption),
        table.note.empty() ? ""
                           : fmt::format("<p class=\"note\">{}</p>", escape_markup(table.note)));
    const std::vector<bool> filled = filled_columns(table);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (!filled[i]) continue;
        out += fmt::format("<th scope=\"col\">{}</th>", escape_markup(table.columns[i]));
    }
    out += "</tr></thead>\n<tbody>\n";
    for (const ReportRow& row : table.rows) {
        const auto item = items.find(row.mark);
        const bool joined = !row.mark.empty() && item != items.end();
        out += joined ? fmt::format("<tr data-i=\"{}\">", item->second) : "<tr>";
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            if (filled[i]) out += cell_of(row.cells[i], i == 0);
        }
        out += "</tr>\n";
    }
    return out + "</tbody></table></section>\n";
}

std::string text_of(const ReportText& text) {
    std::string out;
    if (!text.heading.empty()) out += fmt::format("<h2>{}</h2>\n", escape_markup(text.heading));
    for (const std::string& sentence : text.sentences) {
        out += fmt::format("<p>{}</p>\n", escape_markup(sentence));
    }
    return out;
}

}  // namespace

std::string render_report(const Report& report) {
    std::vector<Chart> charts;
    for (const ReportBlock& block : report.blocks) {
        if (const auto* const chart = std::get_if<Chart>(&block)) charts.push_back(*chart);
    }
    const Items items = items_by_name(charts);
    std::string out = page_start(report.title);
    out += fmt::format("<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n", escape_markup(report.title),
                       escape_markup(report.subtitle));
    out += figures_of(report.figures);
    for (const ReportBlock& block : report.blocks) {
        if (const auto* const chart = std::get_if<Chart>(&block)) {
            out += "<figure>\n" + render_svg(*chart, SvgUse::page) + "</figure>\n";
        } else if (const auto* const table = std::get_if<ReportTable>(&block)) {
            out += table_of(*table, items);
        } else {
            out += text_of(std::get<ReportText>(block));
        }
    }
    return out + page_end(page_data(charts));
}

}  // namespace ridge::plot
