// A measurement as a record: what was run, on which device, every sample, and other observations.
//
//   append_record("mine/matmul.jsonl", record);
//   const RecordFile file = read_records("mine/matmul.jsonl");    // or records/.../matmul.jsonl.gz
//   for (const Damage& damage : file.damaged) ...   // the rest is in file.records
//
// Format: JSON lines, one record per line, UTF-8, each with "schema": 1. Names end with the base
// unit (times_s, clocks_hz, dram_read_bytes), and doubles are written so that they read back
// exactly. A record is one write that ends with its newline and is forced to disk, so an
// interruption can only leave one incomplete last line. The next append cuts that line off; a
// reader reports it as damaged and reads the rest. `docs/measuring.md` lists the fields.
//
// Packed files (*.jsonl.gz, written by scripts/records/pack.py) are read as well: see record_lines.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/error.h"
#include "hardware/json.h"
#include "measure/record/device_info.h"
#include "measure/record/energy_measurement.h"
#include "measure/record/observation.h"
#include "measure/record/question.h"
#include "measure/record/statistics.h"

namespace ridge::measure {

inline constexpr std::int64_t record_schema = 1;

/// The device that a record was measured on.
struct RecordDevice {
    std::string name;
    std::int32_t compute_capability = 0;
    std::int64_t sm_count = 0;
    std::string driver;
    std::string cuda;
    std::string cupti{};
    bool mig = false;
    std::string serial{};  ///< of the GPU, "GPU-3f2a91c0-..."; empty in older records
    std::string host{};    ///< name of the computer

    friend bool operator==(const RecordDevice&, const RecordDevice&) = default;
};

[[nodiscard]] RecordDevice describe(const DeviceInfo& info);

/// The times of one measurement.
struct Timing {
    Method method = Method::events;
    std::vector<Sample> samples{};  ///< all samples in order, including throttled ones
    std::optional<Statistics>
        statistics{};                  ///< of the steady samples; empty when all were throttled
    std::int64_t discarded = 0;        ///< number of throttled samples
    std::optional<Frequency> clock{};  ///< mean SM clock of the steady samples
    bool converged = false;            ///< the interval became narrow enough within the budget
    double seconds = 0.0;              ///< wall time that sampling took

    friend bool operator==(const Timing&, const Timing&) = default;
};

/// Where a time from a table comes from: the row of a time that ridge did not measure.
struct TableRow {
    std::string name;                    ///< name of the row in the table; may be empty
    std::string unknown_implementation;  ///< its `impl` if the model does not know it; else empty
    Location location;
    Time unit;  ///< unit of the column that holds the time
};

/// A record has either a timing or the reason why there is none. A wrong result never has a timing.
/// What a run measured first, to tell one machine from another with the same GPU: the time of an
/// empty kernel, a copy in DRAM, products on the tensor cores in short kernels.
struct MachineReference {
    std::optional<Time> empty_kernel{};
    std::optional<Bandwidth> copy{};  ///< bytes read and written
    std::optional<FlopRate> product{};

    [[nodiscard]] bool empty() const { return !empty_kernel && !copy && !product; }
    friend bool operator==(const MachineReference&, const MachineReference&) = default;
};

struct Record {
    Question question;
    RecordDevice device;
    std::string tool;        ///< "ridge 0.1.0"
    std::string software{};  ///< what ran, NAME-VERSION: "cublaslt-13.0"; empty if unknown
    std::string date;        ///< UTC, ISO 8601: "2025-07-01T12:34:56Z"
    std::optional<Geometry> geometry{};
    std::optional<Verification> verification{};
    std::optional<Timing> timing{};
    std::optional<std::string> failure{};  ///< why there is no timing
    Maybe<Counters> counters = Unavailable{.reason = "not requested"};
    Environment before{};
    Environment after{};
    /// Energy over wall time between the two environments. 0 and absent differ.
    std::optional<Power> mean_power{};
    MachineReference reference{};               ///< of the run; empty in records before 0.2.0
    std::optional<EnergyMeasurement> energy{};  ///< in steady work, if it was asked for
    std::optional<TableRow> row{};  ///< for times from a table; not written to record files
    Location location{};  ///< of the line that was read; empty for a record not from a record file

    [[nodiscard]] bool measured() const { return timing && timing->statistics.has_value(); }
    /// Median time; the record must be `measured`.
    [[nodiscard]] Time time() const { return Time::from_base(timing->statistics->median); }
};

/// `key_of` of its question and device.
[[nodiscard]] std::string key_of(const Record& record);

/// What ran, from what a record without `software` says: the framework or the library with its
/// version, or the bundled kernels of this version of ridge. Empty if its tool is unknown.
[[nodiscard]] std::string software_of(const Record& record);

/// One line of JSON without the newline.
[[nodiscard]] std::string to_json_line(const Record& record);

/// Reads one line; any bytes are safe. InputError, without a location, says what is wrong.
[[nodiscard]] Record parse_record(std::string_view line);
[[nodiscard]] Record record_of(const Json& json);

struct Damage {
    Location location;
    std::string message;
};

struct RecordFile {
    std::vector<Record> records;
    std::vector<Damage> damaged;
};

/// Reads a plain or a packed file. InputError when it cannot be opened.
[[nodiscard]] RecordFile read_records(const std::string& path);

/// The same from a text; `file` names it in damage reports.
[[nodiscard]] RecordFile parse_records(std::string_view text, const std::string& file);

/// Records of all named files, in order, and of the *.jsonl and *.jsonl.gz files of each named
/// folder, sorted.
/// InputError when a path does not exist.
[[nodiscard]] RecordFile read_all_records(const std::vector<std::string>& paths);

/// Appends the record to the file, which is created if necessary; an incomplete last line is cut
/// off first. A packed file is refused. When the disk is full, the file is cut back to its finished records. InputError names
/// the file and the system's reason.
void append_record(const std::string& path, const Record& record);

/// The current time in UTC, as records write it.
[[nodiscard]] std::string utc_now();

}  // namespace ridge::measure
