// The lines of a file of records, one after the other, as records and damage.
//
//   RecordLines lines("matmul.jsonl.gz");
//   while (...) if (!lines.add(line)) break;      // false: the rest of the file cannot be read
//   const RecordFile file = std::move(lines).result();
//
// A line is a record (schema 1). If the first line is the header {"schema":2,...}, the others hold
// what differs from the record before: members that it shares are left out, and a member that it
// has and this one lacks is null. A record never takes over `timing` and `failure`. Statistics
// leave out what follows from the samples. `scripts/records/record_files.py` writes this.
//
// Limits: a few bytes can stand for a long record, so what the lines stand for is counted and ends
// at `most_unpacked_bytes`. After a line that is not JSON nothing more is read in such a file,
// because the next lines build on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hardware/json.h"
#include "measure/record/record.h"

namespace ridge::measure {

/// What a packed file may hold once unpacked. The largest one of this project holds 15 MB.
inline constexpr std::size_t most_unpacked_bytes = std::size_t{256} << 20U;
/// What a record counts towards it besides its own bytes.
inline constexpr std::size_t bytes_per_record = 512;

[[nodiscard]] std::string too_large_unpacked();

class RecordLines {
  public:
    /// `file` names the file in the locations.
    explicit RecordLines(std::string file) : file_(std::move(file)) {}

    /// Takes the next line, without its newline; returns false if no further line can be read.
    bool add(std::string_view line);

    /// Reports what ended the file after the lines so far.
    void end_with(std::string message);

    [[nodiscard]] RecordFile result() && { return std::move(result_); }

  private:
    [[nodiscard]] Location place() const { return {.file = file_, .line = number_}; }
    bool add_difference(const std::optional<Json>& line);
    void add_record(const Json& json);
    void add_damage(std::string message);

    std::string file_;
    std::int64_t number_ = 0;
    bool differences_ = false;
    Json carried_ = Json::object();  ///< the previous record, without what is never taken over
    std::size_t unpacked_ = 0;
    RecordFile result_;
};

}  // namespace ridge::measure
