#include "plot/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "plot/svg.h"
#include "plot/text.h"

namespace ridge::plot {

namespace {

constexpr std::size_t most_columns = 14;  ///< of the table; further terms share one cell

constexpr std::string_view page_style = R"(
:root{color-scheme:light dark}
body{margin:0;padding:16px;background:#fff;color:#1a1a1a;font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif;font-size:14px;line-height:1.45}
main{max-width:1200px;margin:0 auto}
figure{margin:0}
figure svg{display:block;width:100%;height:auto}
.point,.roof,.ridge,.reference{cursor:pointer;outline:none}
.lit .marker{stroke-width:4;stroke:#e69f00}
.lit .line{stroke-width:4}
#tip{position:fixed;z-index:1;max-width:360px;padding:8px 11px;border-radius:5px;background:#1a1a1a;color:#fff;font-size:13px;pointer-events:none;box-shadow:0 2px 8px rgba(0,0,0,.35)}
#tip[hidden]{display:none}
#tip strong{display:block;overflow-wrap:anywhere}
#tip dl{display:grid;grid-template-columns:auto auto;gap:1px 12px;margin:4px 0 0}
#tip dt{color:#c9c9c9}
#tip dd{margin:0;text-align:right;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;margin:14px 0;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:bold;padding:4px 0}
th,td{padding:3px 12px 3px 0;border-bottom:1px solid #ddd;text-align:left;vertical-align:top;overflow-wrap:anywhere;max-width:32em}
tbody tr:hover{background:#eef4f9}
)";

constexpr std::string_view dark_page_style = R"(
body{background:#16181c;color:#eee}
th,td{border-color:#3a3d44}
tbody tr:hover{background:#252a31}
#tip{background:#f2f2f2;color:#111}
#tip dt{color:#555}
)";

constexpr std::string_view print_style = R"(
body{padding:0}#tip{display:none}table{font-size:10px}tr{break-inside:avoid}
)";

constexpr std::string_view page_script = R"(
(() => {
  const items = JSON.parse(document.getElementById('items').textContent);
  const chart = document.querySelector('svg.ridge-chart');
  const tip = document.getElementById('tip');
  const targets = new Map();
  for (const node of chart.querySelectorAll('[data-i]')) targets.set(Number(node.dataset.i), node);
  const order = [...targets.keys()].sort((a, b) => a - b);
  const rows = new Map();
  for (const row of document.querySelectorAll('tr[data-i]')) rows.set(Number(row.dataset.i), row);
  let lit = null;

  const element = (tag, text) => {
    const node = document.createElement(tag);
    node.textContent = text;
    return node;
  };
  const fill = (item) => {
    const list = document.createElement('dl');
    for (const [name, value] of item.terms) list.append(element('dt', name), element('dd', value));
    const kind = item.series && item.series !== item.name ? item.series + ', ' + item.kind : item.kind;
    tip.replaceChildren(element('strong', item.name), element('span', kind), list);
  };
  const place = (x, y) => {
    const box = tip.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    const top = y + 14 + box.height > innerHeight ? y - 14 - box.height : y + 14;
    tip.style.left = Math.max(4, left) + 'px';
    tip.style.top = Math.max(4, top) + 'px';
  };
  const hide = () => {
    if (lit) lit.classList.remove('lit');
    lit = null;
    tip.hidden = true;
  };
  const show = (index, x, y) => {
    const node = targets.get(index);
    if (lit !== node) {
      hide();
      lit = node;
      node.classList.add('lit');
      fill(items[index]);
      tip.hidden = false;
    }
    if (x === undefined) {
      const box = (node.querySelector('.marker') || node).getBoundingClientRect();
      place(box.left + box.width / 2, box.top + box.height / 2);
    } else {
      place(x, y);
    }
  };
  const focus = (index) => {
    for (const node of targets.values()) node.setAttribute('tabindex', '-1');
    const node = targets.get(index);
    node.setAttribute('tabindex', '0');
    node.focus();
  };
  const indexOf = (event) => {
    const node = event.target.closest('[data-i]');
    return node ? Number(node.dataset.i) : null;
  };

  chart.addEventListener('pointermove', (event) => {
    const index = indexOf(event);
    if (index === null) hide(); else show(index, event.clientX, event.clientY);
  });
  chart.addEventListener('pointerleave', hide);
  chart.addEventListener('focusin', (event) => {
    const index = indexOf(event);
    if (index !== null) show(index);
  });
  chart.addEventListener('focusout', hide);
  chart.addEventListener('keydown', (event) => {
    const at = order.indexOf(indexOf(event));
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (event.key === 'Escape') hide();
    if (at < 0 || step === undefined) return;
    event.preventDefault();
    focus(order[(at + step + order.length) % order.length]);
  });
  for (const [index, row] of rows) {
    row.addEventListener('pointerenter', () => targets.get(index).classList.add('lit'));
    row.addEventListener('pointerleave', () => targets.get(index).classList.remove('lit'));
  }
})();
)";

std::string json_of(const std::vector<Item>& items) {
    std::string out = "[";
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Item& item = items[i];
        out += fmt::format(R"({}{{"kind":{},"name":{},"series":{},"terms":[)", i == 0 ? "" : ",\n",
                           script_json_string(item.kind), script_json_string(item.name),
                           script_json_string(item.series));
        for (std::size_t k = 0; k < item.terms.size(); ++k) {
            out +=
                fmt::format("{}[{},{}]", k == 0 ? "" : ",", script_json_string(item.terms[k].name),
                            script_json_string(item.terms[k].value));
        }
        out += "]}";
    }
    return out + "]";
}

struct Row {
    std::size_t item = 0;
    const Item* content = nullptr;
};

/// Names of the terms in the order of their first appearance.
std::vector<std::string> term_columns(const std::vector<Row>& rows) {
    std::vector<std::string> names;
    for (const Row& row : rows) {
        for (const Term& term : row.content->terms) {
            const bool known = std::find(names.begin(), names.end(), term.name) != names.end();
            if (!known && names.size() < most_columns) names.push_back(term.name);
        }
    }
    return names;
}

std::string cell(std::string_view tag, std::string_view text) {
    return fmt::format("<{0}>{1}</{0}>", tag, escape_markup(text));
}

std::string table_row(const Row& row, const std::vector<std::string>& columns, bool with_series) {
    std::vector<std::string> cells(columns.size());
    std::string rest;
    for (const Term& term : row.content->terms) {
        const auto column = std::find(columns.begin(), columns.end(), term.name);
        if (column == columns.end()) {
            rest += fmt::format("{}{}: {}", rest.empty() ? "" : "; ", term.name, term.value);
        } else {
            std::string& text = cells[static_cast<std::size_t>(column - columns.begin())];
            text += text.empty() ? term.value : "; " + term.value;
        }
    }
    std::string out = fmt::format("<tr data-i=\"{}\">{}", row.item, cell("td", row.content->name));
    if (with_series) out += cell("td", row.content->series);
    out += cell("td", row.content->kind);
    for (const std::string& text : cells) out += cell("td", text);
    if (!rest.empty()) out += cell("td", rest);
    return out + "</tr>\n";
}

std::string table_of(std::string_view caption, const std::vector<Row>& rows) {
    if (rows.empty()) return "";
    const std::vector<std::string> columns = term_columns(rows);
    const bool with_series = std::any_of(
        rows.begin(), rows.end(), [](const Row& row) { return !row.content->series.empty(); });
    std::string out =
        fmt::format("<div class=\"scroll\"><table>\n<caption>{}</caption>\n<thead><tr>{}",
                    escape_markup(caption), cell("th", "Name"));
    if (with_series) out += cell("th", "Series");
    out += cell("th", "Kind");
    for (const std::string& column : columns) out += cell("th", column);
    out += "</tr></thead>\n<tbody>\n";
    for (const Row& row : rows) out += table_row(row, columns, with_series);
    return out + "</tbody></table></div>\n";
}

}  // namespace

std::string render_html(const Chart& chart) {
    const std::vector<Item> items = items_of(chart);
    std::vector<Row> points;
    std::vector<Row> others;
    for (std::size_t i = 0; i < items.size(); ++i) {
        (i < chart.marks.size() ? points : others).push_back({.item = i, .content = &items[i]});
    }
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    out +=
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    out += fmt::format("<title>{}</title>\n<style>", escape_markup(chart.title));
    out += page_style;
    out += light_style_sheet();
    out += "@media screen and (prefers-color-scheme:dark){";
    out += dark_page_style;
    out += dark_style_sheet();
    out += "}\n@media print{";
    out += print_style;
    out += "}\n</style>\n</head>\n<body>\n<main>\n<figure>\n";
    out += render_svg(chart, SvgUse::page);
    out += "</figure>\n";
    out += table_of("Points", points);
    out += table_of("Roofs and reference lines", others);
    out += "</main>\n<div id=\"tip\" role=\"tooltip\" hidden></div>\n";
    out +=
        R"(<script type="application/json" id="items">)" + json_of(items) + "</script>\n<script>";
    out += page_script;
    return out + "</script>\n</body>\n</html>\n";
}

}  // namespace ridge::plot
