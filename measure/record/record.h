// A measurement as a record: what was run, on what, every sample, and what was seen beside the
// time.
//
//   append_record("records/h200.jsonl", record);
//   const RecordFile file = read_records("records/h200.jsonl");
//   for (const Damage& damage : file.damaged) ...   // the rest is in file.records
//
// Format: JSON lines, one record per line, UTF-8, each with "schema": 1; base units stand in the
// names (times_s, clocks_hz, dram_read_bytes) and doubles are written so that they read back
// exactly. A record is one write that ends with its newline and is forced to the disk, so an
// interruption can only leave one incomplete last line; the next append cuts it off, and a reader
// reports it as damaged and reads the rest. `docs/measuring.md` lists the fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/error.h"
#include "measure/record/device_info.h"
#include "measure/record/observation.h"
#include "measure/record/question.h"
#include "measure/record/statistics.h"

namespace ridge::measure {

inline constexpr std::int64_t record_schema = 1;

/// The device of a record.
struct RecordDevice {
    std::string name;
    std::int32_t compute_capability = 0;
    std::int64_t sm_count = 0;
    std::string driver;
    std::string cuda;
    std::string cupti{};
    bool mig = false;

    friend bool operator==(const RecordDevice&, const RecordDevice&) = default;
};

[[nodiscard]] RecordDevice describe(const DeviceInfo& info);

/// The times of one measurement.
struct Timing {
    Method method = Method::events;
    std::vector<Sample> samples{};           ///< every one in order, throttled ones too
    std::optional<Statistics> statistics{};  ///< of the steady ones; empty when all were throttled
    std::int64_t discarded = 0;              ///< throttled samples
    std::optional<Frequency> clock{};        ///< mean SM clock of the steady samples
    bool converged = false;                  ///< the interval reached its bound within the budget
    double seconds = 0.0;                    ///< wall time that sampling took

    friend bool operator==(const Timing&, const Timing&) = default;
};

/// Where a time stands that somebody else took: a row of a table.
struct TableRow {
    std::string name;                    ///< what the table calls it; may be empty
    std::string unknown_implementation;  ///< its `impl` where the model has no such one; else empty
    Location location;
    Time unit;  ///< of the column that the time stands in
};

/// A record has either a timing or the reason why there is none; a wrong result never has a timing.
struct Record {
    Question question;
    RecordDevice device;
    std::string tool;  ///< "ridge 0.1.0"
    std::string date;  ///< UTC, ISO 8601: "2025-07-01T12:34:56Z"
    std::optional<Geometry> geometry{};
    std::optional<Verification> verification{};
    std::optional<Timing> timing{};
    std::optional<std::string> failure{};  ///< why there is no timing
    Maybe<Counters> counters = Unavailable{.reason = "not requested"};
    Environment before{};
    Environment after{};
    /// Energy over wall time between the two environments; 0 and absent differ.
    std::optional<Power> mean_power{};
    std::optional<TableRow> row{};  ///< of a table; not written to files of records

    [[nodiscard]] bool measured() const { return timing && timing->statistics.has_value(); }
    /// Median time; the record must be `measured`.
    [[nodiscard]] Time time() const { return Time::from_base(timing->statistics->median); }
};

/// `key_of` its question and device.
[[nodiscard]] std::string key_of(const Record& record);

/// One line of JSON without the newline.
[[nodiscard]] std::string to_json_line(const Record& record);

/// InputError without location says what is wrong. Any bytes are safe.
[[nodiscard]] Record parse_record(std::string_view line);

struct Damage {
    Location location;
    std::string message;
};

struct RecordFile {
    std::vector<Record> records;
    std::vector<Damage> damaged;
};

/// InputError when the file cannot be opened or read.
[[nodiscard]] RecordFile read_records(const std::string& path);

/// The same for a text; `file` names it in damage reports.
[[nodiscard]] RecordFile parse_records(std::string_view text, const std::string& file);

/// All files named, in order, and the *.jsonl of each folder named, sorted. InputError when one
/// does not exist.
[[nodiscard]] RecordFile read_all_records(const std::vector<std::string>& paths);

/// Adds the record at the end of the file, creating it and cutting off an incomplete last line.
/// When the disk is full the file is cut back to its finished records. InputError names the file
/// and the system's reason.
void append_record(const std::string& path, const Record& record);

/// Now, in UTC, as records write it.
[[nodiscard]] std::string utc_now();

}  // namespace ridge::measure
