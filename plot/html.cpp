#include "plot/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/algorithms.h"
#include "plot/chart_json.h"
#include "plot/html_frame.h"
#include "plot/page.h"
#include "plot/svg.h"
#include "plot/text.h"

namespace ridge::plot {

namespace {

constexpr std::size_t most_columns = 16;  ///< of the table; further terms share the last cell

/// A row of the table: one operation, predicted or measured or both, or one roof.
struct Row {
    std::size_t item = 0;
    int number = 0;
    Item content = {};
};

struct Tables {
    std::vector<Row> points = {};
    std::vector<Row> others = {};
};

/// A predicted mark that is joined with a measured one shares its row. `first` is the index of the
/// first item on the page.
Tables rows_of(std::span<const Chart> charts, std::size_t first = 0) {
    Tables out;
    for (const Chart& chart : charts) {
        std::vector<bool> shares(chart.marks.size(), false);
        std::vector<bool> both(chart.marks.size(), false);
        for (const Link& link : chart.links) shares[link.from] = both[link.to] = true;
        std::vector<Item> items = items_of(chart);
        for (std::size_t i = 0; i < items.size(); ++i) {
            const bool is_mark = i < chart.marks.size();
            if (is_mark && shares[i]) continue;
            Row row = {.item = first + i, .number = 0, .content = std::move(items[i])};
            if (is_mark && both[i]) row.content.kind = "measured, predicted";
            if (is_mark) row.number = chart.marks[i].number;
            if (charts.size() > 1 && row.content.series.empty()) row.content.series = chart.title;
            (is_mark ? out.points : out.others).push_back(std::move(row));
        }
        first += items.size();
    }
    algorithms::stable_sort(out.points, [](const Row& a, const Row& b) {
        if (a.number != b.number) return a.number < b.number;
        return NaturalOrder{}(a.content.series, b.content.series);
    });
    return out;
}

/// Names of the terms in order of first appearance.
std::vector<std::string> term_columns(const std::vector<Row>& rows) {
    std::vector<std::string> names;
    for (const Row& row : rows) {
        for (const Term& term : row.content.terms) {
            const bool known = std::find(names.begin(), names.end(), term.name) != names.end();
            if (!known && names.size() < most_columns) names.push_back(term.name);
        }
    }
    return names;
}

/// The terms of a row by column, and the terms without a column as text.
struct Cells {
    std::vector<const Term*> terms = {};
    std::string rest = {};
};

Cells cells_of(const Row& row, const std::vector<std::string>& columns) {
    Cells out{.terms = std::vector<const Term*>(columns.size(), nullptr)};
    for (const Term& term : row.content.terms) {
        const auto column = algorithms::find(columns, term.name);
        const auto index = static_cast<std::size_t>(column - columns.begin());
        if (column == columns.end() || out.terms[index] != nullptr) {
            out.rest +=
                fmt::format("{}{}: {}", out.rest.empty() ? "" : "; ", term.name, term.value);
        } else {
            out.terms[index] = &term;
        }
    }
    return out;
}

/// The columns that a table has besides names and terms, if any row needs them.
struct Columns {
    bool number = false;
    bool series = false;
    bool level = false;
    std::vector<std::string> terms = {};
    bool rest = false;
};

Columns columns_of(const std::vector<Row>& rows) {
    const auto any = [&rows](const auto& has) { return algorithms::any_of(rows, has); };
    Columns out{.number = any([](const Row& row) { return row.number != 0; }),
                .series = any([](const Row& row) { return !row.content.series.empty(); }),
                .level = any([](const Row& row) { return !row.content.level.empty(); }),
                .terms = term_columns(rows)};
    out.rest = any([&out](const Row& row) { return !cells_of(row, out.terms).rest.empty(); });
    return out;
}

std::string heading(std::string_view text) {
    return fmt::format("<th scope=\"col\">{}</th>", escape_markup(text));
}

std::string cell(std::string_view text) {
    return fmt::format("<td{}>{}</td>", is_short(text) ? " class=\"short\"" : "",
                       escape_markup(text));
}

std::string table_row(const Row& row, const Columns& columns) {
    const Cells cells = cells_of(row, columns.terms);
    std::string out = fmt::format("<tr data-i=\"{}\">", row.item);
    if (columns.number) {
        out +=
            row.number == 0 ? "<td></td>" : fmt::format("<td class=\"index\">{}</td>", row.number);
    }
    const std::string number = row.number == 0 ? "" : fmt::format(" data-n=\"{}\"", row.number);
    out += fmt::format("<td class=\"name\"{}>{}</td>", number, escape_markup(row.content.name));
    if (columns.series) out += cell(row.content.series);
    if (columns.level) out += cell(row.content.level);
    out += cell(row.content.kind);
    for (const Term* const term : cells.terms) {
        if (term != nullptr && term->number) {
            out += fmt::format(R"(<td class="number" data-v="{}">{}</td>)", *term->number,
                               escape_markup(term->value));
        } else {
            out += cell(term == nullptr ? "" : term->value);
        }
    }
    if (columns.rest) out += cell(cells.rest);
    return out + "</tr>\n";
}

std::string table_of(std::string_view caption, const std::vector<Row>& rows) {
    if (rows.empty()) return "";
    const Columns columns = columns_of(rows);
    std::string out = fmt::format(
        "<div class=\"table\"><table>\n<caption>{}</caption>\n<thead><tr>", escape_markup(caption));
    if (columns.number) out += heading("#");
    out += heading("name");
    if (columns.series) out += heading("series");
    if (columns.level) out += heading("level");
    out += heading("kind");
    for (const std::string& column : columns.terms) out += heading(column);
    if (columns.rest) out += heading("more");
    out += "</tr></thead>\n<tbody>\n";
    for (const Row& row : rows) out += table_row(row, columns);
    return out + "</tbody></table></div>\n";
}

}  // namespace

std::string page_data(std::span<const Chart> charts) {
    std::string items;
    std::string out = "{\"charts\":[";
    std::size_t first = 0;
    for (const Chart& chart : charts) {
        out += (out.back() == '[' ? "" : ",\n") + to_json(chart, first);
        for (const Item& item : items_of(chart)) {
            items += (first == 0 ? "" : ",\n") + to_json(item);
            ++first;
        }
    }
    return out + "],\n\"items\":[" + items + "]}";
}

namespace {

std::string style() {
    std::string out(page_file("page.css"));
    out += light_style_sheet();
    out += "@media screen and (prefers-color-scheme:dark){\n";
    out += page_file("dark.css");
    out += dark_style_sheet();
    out += "}\n@media print{\n";
    out += page_file("print.css");
    return out + "}\n";
}

/// Consecutive charts with the same axes share a table.
bool same_axes(const Chart& a, const Chart& b) {
    return a.x.title == b.x.title && a.y.title == b.y.title;
}

std::string script() {
    std::string out = "(() => {\n'use strict';\n";
    for (const std::string_view part :
         {"axes.js", "chart.js", "interaction.js", "spans.js", "table.js", "start.js"}) {
        out += page_file(part);
    }
    return out + "})();\n";
}

}  // namespace

std::string page_start(std::string_view title) {
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    out +=
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    out += fmt::format("<title>{}</title>\n<style>", escape_markup(title));
    return out + style() + "</style>\n</head>\n<body>\n<main>\n";
}

bool is_short(std::string_view text) {
    constexpr std::size_t longest = 16;
    return !text.empty() && text.size() <= longest;
}

std::string points_table(std::span<const Chart> charts, std::size_t first) {
    return table_of("Points", rows_of(charts, first).points);
}

std::string page_end(const std::string& data) {
    return "</main>\n<script type=\"application/json\" id=\"data\">" + data +
           "</script>\n<script>" + script() + "</script>\n</body>\n</html>\n";
}

std::string render_html(std::span<const Chart> charts) {
    std::string out = page_start(charts.empty() ? "" : charts.front().title);
    std::size_t first = 0;
    for (std::span<const Chart> rest = charts; !rest.empty();) {
        const auto other = algorithms::find_if_not(
            rest, [&rest](const Chart& chart) { return same_axes(chart, rest.front()); });
        const auto alike = rest.first(static_cast<std::size_t>(other - rest.begin()));
        const Tables tables = rows_of(alike, first);
        for (const Chart& chart : alike) {
            out += "<figure>\n" + render_svg(chart, SvgUse::page) + "</figure>\n";
            first += items_of(chart).size();
        }
        out += table_of("Points", tables.points);
        out += table_of("Roofs and reference lines", tables.others);
        rest = rest.subspan(alike.size());
    }
    return out + page_end(page_data(charts));
}

}  // namespace ridge::plot
