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

/// Columns padded to their widest cell, two spaces between; the header is underlined with dashes.
void write_text(std::ostream& out, const Table& table);
/// The table without as many of the named columns, in this order, as `write_text` has no room for.
[[nodiscard]] Table fitted(Table table, std::initializer_list<std::string_view> droppable,
                           std::size_t width);
void write_markdown(std::ostream& out, const Table& table);
void write_csv(std::ostream& out, const Table& table);

/// A CSV cell by RFC 4180: quoted when it holds a comma, a quote or a line break.
void append_csv_cell(std::string& line, std::string_view cell);

/// Columns that a UTF-8 text takes on a terminal.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Text of users' files as a terminal may show it: line breaks stay, other control characters and
/// direction marks become spaces, what is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);

/// `text` broken into lines that end at column `width`, each but the first indented; the first begins at
/// column `begin`, behind what the caller wrote.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t width, std::size_t indent,
                               std::size_t begin = 0);

}  // namespace ridge::cli
