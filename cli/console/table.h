// Rows of text as an aligned table, Markdown or CSV.
//
//   Table table{.columns = {{"gpu"}, {"time", Align::right}}, .rows = {{"h100-sxm", "183 us"}}};
//   write_text(out, table);
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

enum class Align { left, right };

struct Column {
    std::string name;
    Align align = Align::left;
};

struct Table {
    std::vector<Column> columns;
    std::vector<std::vector<std::string>> rows;
};

/// Writes columns padded to their widest cell, two spaces apart, with dashes below the header.
void write_text(std::ostream& out, const Table& table);
/// Drops the named columns one by one, in this order, until `write_text` has room for the table.
[[nodiscard]] Table fitted(Table table, std::initializer_list<std::string_view> droppable,
                           std::size_t width);
void write_markdown(std::ostream& out, const Table& table);
void write_csv(std::ostream& out, const Table& table);

/// Whether a spreadsheet would take the text for a formula: =, @, or a sign before no number.
[[nodiscard]] bool is_formula(std::string_view cell);

/// Appends a CSV cell by RFC 4180: quoted if it holds a comma, a quote or a line break. A formula
/// gets an apostrophe in front, so that it stays text.
void append_csv_cell(std::string& line, std::string_view cell);

/// Columns that a UTF-8 text takes on a terminal.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Text of users' files as a terminal may show it: line breaks stay, other control characters and
/// direction marks become spaces, and invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);

/// Breaks `text` into lines that end at column `width`, all but the first indented. The first line
/// begins at column `begin`, after what the caller wrote.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t width, std::size_t indent,
                               std::size_t begin = 0);

}  // namespace ridge::cli
