#include "cli/views/report_rows.h"

#include <utility>

namespace ridge::cli {

plot::ReportTable report_table(const Rows& rows, std::string caption, std::string note) {
    plot::ReportTable table{.caption = std::move(caption), .note = std::move(note)};
    for (const Rows::Column& column : rows.columns) {
        if (column.shown == Shown::never) continue;
        table.columns.push_back(column.title.empty() ? column.name : column.title);
    }
    for (const auto& row : rows.rows) {
        plot::ReportRow out;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (rows.columns[i].shown == Shown::never) continue;
            out.cells.push_back({.text = row[i].text, .number = row[i].number, .share = {}});
        }
        out.mark = out.cells.empty() ? std::string() : out.cells.front().text;
        table.rows.push_back(std::move(out));
    }
    return table;
}

}  // namespace ridge::cli
