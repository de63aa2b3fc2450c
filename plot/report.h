// A report as one HTML file that works offline: figures, sentences, charts and sorted tables.
//
//   Report report{.title = "A step of training"};
//   report.figures = {{.name = "kernel time", .value = "1.46 ms"}};
//   report.blocks.push_back(chart);
//   report.blocks.push_back(ReportTable{.caption = "Operators", ...});
//   render_report(report);
//
// Charts behave as in html.h, tables sort by a click on a heading and become cards where they would
// be wider than the page; a column of empty cells is left out. A row that names a mark of a chart
// highlights it. Without scripts, all but sorting and zooming still works.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plot/chart.h"

namespace ridge::plot {

struct ReportCell {
    std::string text = {};
    std::optional<double> number = {};  ///< sorts the column; the text does where absent
    std::optional<double> share = {};   ///< of the whole, 0 to 1: a bar behind the text
};

struct ReportRow {
    std::vector<ReportCell> cells = {};  ///< one a column; the first is the row's name
    std::string mark = {};               ///< name of a mark on a chart of the report; may be empty
};

struct ReportTable {
    std::string caption = {};
    std::string note = {};  ///< beneath the caption
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
