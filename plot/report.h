// A report as one HTML file that works offline: figures, sentences, charts and sorted tables.
//
//   Report report{.title = "A training step"};
//   report.figures = {{.name = "kernel time", .value = "1.46 ms"}};
//   report.blocks.push_back(chart);
//   report.blocks.push_back(ReportTable{.caption = "Operators", ...});
//   render_report(report);
//
// Charts behave as in html.h; tables are sorted by clicking a heading and become cards if they
// would be wider than the page; an empty column is left out. A row with the name of a mark on a
// chart highlights that mark. Without scripts, everything except sorting and zooming works.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plot/chart.h"

namespace ridge::plot {

struct ReportCell {
    std::string text = {};
    std::optional<double> number = {};  ///< sorts the column; without it the text does
    std::optional<double> share = {};   ///< of the whole, 0 to 1: a bar behind the text
};

struct ReportRow {
    std::vector<ReportCell> cells = {};  ///< one per column; the first is the row's name
    std::string mark = {};               ///< name of a mark on a chart of the report; may be empty
};

struct ReportTable {
    std::string caption = {};
    std::string note = {};  ///< below the caption
    std::vector<std::string> columns = {};
    std::vector<ReportRow> rows = {};
};

struct ReportText {
    std::string heading = {};
    std::vector<std::string> sentences = {};
};

using ReportBlock = std::variant<Chart, ReportTable, ReportText>;

struct Report {
    std::string title = {};
    std::string subtitle = {};
    std::vector<Term> figures = {};  ///< the headline
    std::vector<ReportBlock> blocks = {};
};

[[nodiscard]] std::string render_report(const Report& report);

}  // namespace ridge::plot
