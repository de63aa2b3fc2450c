// Reads CSV (RFC 4180) row by row from a stream, fast and safe on any bytes.
//
//   const std::unique_ptr<std::istream> stream = open_input("shapes.csv");
//   CsvReader reader(*stream, "shapes.csv");
//   while (reader.next()) for (std::string_view cell : reader.cells()) ...
//
// Cells may be quoted; a quoted cell may hold line breaks, and quotes inside it are doubled. Rows
// end with LF or CRLF. A UTF-8 byte-order mark and empty lines are skipped. Cells stay valid until
// the next call of `next`.
//
// A broken row never affects other rows: if a quote is not closed, or is where none may be, the row
// is its first line only, and reading continues at the next line.
// Limits: a row of more than 1 MiB is a broken row without cells.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::measure {

class CsvReader {
  public:
    /// InputError when the stream fails or the input looks like UTF-16.
    /// `separator` is ',' or, in tables of other programs, a tab or ';'.
    CsvReader(std::istream& stream, std::string file, char separator = ',');

    /// Reads the next row; returns false at the end. If `problem` is not empty, the row is broken
    /// and its cells are those of its first line, split at every comma. InputError when reading
    /// fails; a partly read row is never returned.
    [[nodiscard]] bool next();

    /// Whether the next row needs a read from the stream, which may block on a pipe.
    [[nodiscard]] bool must_wait() const {
        return !at_end_ && buffer_.find('\n', position_) == std::string::npos;
    }

    [[nodiscard]] const std::vector<std::string_view>& cells() const { return cells_; }
    /// The row as it is in the input, without its line break.
    [[nodiscard]] std::string_view raw() const { return raw_; }
    [[nodiscard]] const std::string& problem() const { return problem_; }
    /// Line where the row begins, from 1.
    [[nodiscard]] std::int64_t line() const { return row_line_; }
    [[nodiscard]] const std::string& file() const { return file_; }

  private:
    static constexpr int end_of_input = -1;

    [[nodiscard]] bool fill();
    [[nodiscard]] int at(std::size_t offset);
    [[nodiscard]] std::size_t find_line_end();
    void skip_long_line();
    void take(std::size_t length);
    void split(std::string_view row);
    void read_quoted(std::size_t line_length);
    [[nodiscard]] std::string read_cells(std::size_t& offset);
    [[nodiscard]] std::string read_quoted_cell(std::size_t& offset, std::string& cell);
    [[nodiscard]] std::string read_plain_cell(std::size_t& offset, std::string& cell);
    [[nodiscard]] std::string& new_cell();

    std::istream& stream_;
    std::string file_;
    char separator_;
    std::string buffer_;
    std::size_t position_ = 0;  ///< start of the unread part of the buffer
    bool at_end_ = false;
    std::int64_t line_ = 1;
    std::int64_t row_line_ = 0;
    std::string_view raw_;
    std::vector<std::string_view> cells_;
    std::vector<std::string> unescaped_;  ///< kept between rows to reuse its memory
    std::size_t unescaped_count_ = 0;
    std::string problem_;
};

}  // namespace ridge::measure
