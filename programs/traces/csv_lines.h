// The rows of a profiler's CSV: lines of a source, and the fields of a line.
//
//   CsvLines lines(source);
//   std::string line;
//   while (lines.next(line)) csv_fields(line);   // {"ID", "Kernel Name"}
//
// A line break within quotes belongs to the line, two quotes mean one. A line of more than 4 MiB ends the reading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {
class ByteSource;
}

namespace ridge::programs {

class CsvLines {
  public:
    explicit CsvLines(ByteSource& source) : source_(source) {}

    /// The next line without its line break; false if there is none.
    bool next(std::string& line);
    /// Whether the last line was complete, not cut off within quotes.
    [[nodiscard]] bool whole() const { return whole_; }
    [[nodiscard]] std::uint64_t bytes() const { return before_ + at_; }
    [[nodiscard]] std::string damage() const;

  private:
    bool fill();

    ByteSource& source_;
    std::string buffer_;
    std::size_t at_ = 0;
    std::uint64_t before_ = 0;
    bool whole_ = true;
    std::string damage_;
};

[[nodiscard]] std::vector<std::string> csv_fields(std::string_view line);

}  // namespace ridge::programs
