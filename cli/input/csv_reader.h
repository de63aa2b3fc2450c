// Reads CSV (RFC 4180) row by row from a stream, fast and safe on any bytes.
//
//   CsvReader reader(stream, "shapes.csv");
//   while (reader.next()) for (std::string_view cell : reader.cells()) ...
//
// Cells may be quoted, quotes inside are doubled, quoted cells may hold line breaks; LF and CRLF
// end rows; a UTF-8 byte-order mark is skipped; empty lines are skipped. Cells stay valid until the
// next call of `next`. Limits: a row is at most 1 MiB long (InputError with the line otherwise).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

class CsvReader {
  public:
    CsvReader(std::istream& stream, std::string file);

    /// Reads the next row; false at the end. A broken row (text after a closing quote, a quote that
    /// is never closed) is read as far as it goes and `problem` says what is wrong.
    [[nodiscard]] bool next();

    [[nodiscard]] const std::vector<std::string_view>& cells() const { return cells_; }
    /// The row as it stands in the input, without its line break.
    [[nodiscard]] std::string_view raw() const { return raw_; }
    [[nodiscard]] const std::string& problem() const { return problem_; }
    /// Line at which the row begins, from 1.
    [[nodiscard]] std::int64_t line() const { return row_line_; }
    [[nodiscard]] const std::string& file() const { return file_; }

  private:
    [[nodiscard]] bool fill();
    [[nodiscard]] std::size_t find_row_end();
    void split(std::string_view row);
    void split_quoted(std::string_view row);

    std::istream& stream_;
    std::string file_;
    std::string buffer_;
    std::size_t position_ = 0;  ///< start of the unread part of the buffer
    bool at_end_ = false;
    std::int64_t line_ = 1;
    std::int64_t row_line_ = 0;
    std::string_view raw_;
    std::vector<std::string_view> cells_;
    std::vector<std::string> unescaped_;
    std::string problem_;
};

}  // namespace ridge::cli
