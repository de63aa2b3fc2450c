#include "cli/console/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace ridge::cli {
namespace {

bool is_empty(const Cell& cell) {
    return cell.text.empty() && !cell.number;
}

Table exact_table(const Rows& rows) {
    Table table;
    for (const Rows::Column& column : rows.columns) table.columns.push_back({column.name});
    for (const std::vector<Cell>& row : rows.rows) {
        std::vector<std::string> cells;
        cells.reserve(row.size());
        for (const Cell& cell : row) {
            cells.push_back(cell.number ? fmt::format("{}", *cell.number) : cell.text);
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

const std::string& title_of(const Rows::Column& column) {
    return column.title.empty() ? column.name : column.title;
}

/// The table without columns that are empty; numbers are right-aligned.
Table readable_table(const Rows& rows) {
    Table table;
    table.rows.resize(rows.rows.size());
    for (std::size_t i = 0; i < rows.columns.size(); ++i) {
        const auto all = [&](auto&& holds) {
            return std::all_of(rows.rows.begin(), rows.rows.end(),
                               [&](const std::vector<Cell>& row) { return holds(row[i]); });
        };
        const Rows::Column& column = rows.columns[i];
        if (column.shown == Shown::never || (!rows.rows.empty() && all(is_empty))) continue;
        const bool numbers =
            all([](const Cell& cell) { return is_empty(cell) || cell.number.has_value(); });
        table.columns.push_back({title_of(column), numbers ? Align::right : Align::left});
        for (std::size_t r = 0; r < rows.rows.size(); ++r) {
            table.rows[r].push_back(rows.rows[r][i].text);
        }
    }
    return table;
}

}  // namespace

Json to_json(const Rows& rows) {
    Json list = Json::array();
    for (const std::vector<Cell>& row : rows.rows) {
        Json object = Json::object();
        for (std::size_t i = 0; i < rows.columns.size(); ++i) {
            const Cell& cell = row[i];
            if (is_empty(cell)) continue;
            object[rows.columns[i].name] = cell.number ? Json(*cell.number) : Json(cell.text);
        }
        list.push_back(std::move(object));
    }
    return list;
}

void write_rows(const Context& context, const Rows& rows, Format format) {
    switch (format) {
        case Format::json:
            context.out << to_json(rows).text(2) << '\n';
            return;
        case Format::csv:
            write_csv(context.out, exact_table(rows));
            return;
        case Format::markdown:
            write_markdown(context.out, readable_table(rows));
            return;
        case Format::table:
            break;
    }
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    Table table = readable_table(rows);
    for (std::size_t i = rows.columns.size(); i-- > 0;) {
        if (rows.columns[i].shown != Shown::where_room) continue;
        table = fitted(std::move(table), {title_of(rows.columns[i])}, width);
    }
    write_text(context.out, table);
}

}  // namespace ridge::cli
