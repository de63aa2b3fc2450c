// Measures questions on a device and keeps what was found.
//
//   const Record record = *measure_one(device, question, options);
//   const SuiteOptions into{.folder = "records"};
//   const SuiteResult result = measure_suite(device, suite(Suite::quick, 90), into);
//
// Order of one measurement: prepare, verify against the CPU, probe, choose the method, sample,
// count. A case that computes wrongly is never timed; a case that cannot be prepared or fails
// becomes a record with the reason, and the others go on. Finished records are on the disk before
// the next case begins, and a second run into the same folder skips what is already there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/record/record.h"
#include "measure/run/sampling.h"

namespace ridge::measure {

struct MeasureOptions {
    SamplingOptions sampling{};
    std::vector<CounterGroup> counters{CounterGroup::traffic, CounterGroup::arithmetic,
                                       CounterGroup::tensor};  ///< empty: none are read
    std::string tool = "ridge";
    Hooks hooks = real_hooks();
};

/// Empty when interrupted before the record was complete. `automatic` becomes what `choose` says.
[[nodiscard]] std::optional<Record> measure_one(Device& device, Question question,
                                                const MeasureOptions& options);

/// What a progress bar needs.
struct SuiteProgress {
    std::int64_t done = 0;  ///< of this run, without the skipped ones
    std::int64_t total = 0;
    double seconds = 0.0;                  ///< since the run began
    std::optional<double> seconds_left{};  ///< by the pace so far
    std::string current{};                 ///< the question that begins; empty at the end
};

enum class Failures : std::uint8_t { keep, retry };

struct SuiteOptions {
    MeasureOptions measuring{};
    std::string folder{};                ///< made when missing; empty: nothing is written
    double seconds = 0.0;                ///< for the whole suite; 0: no limit
    Failures failures = Failures::keep;  ///< whether recorded failures are tried again
    std::function<void(const SuiteProgress&)> progress{};
};

struct SuiteResult {
    std::vector<Record> records;  ///< made in this run, in order
    std::int64_t skipped = 0;     ///< found in the folder
    std::int64_t remaining = 0;   ///< not reached
    bool interrupted = false;
    std::optional<std::string> stopped{};  ///< why the device could not go on
    std::vector<Damage> damaged{};         ///< lines of the folder that could not be read
};

/// Runs the questions that the folder does not answer yet for this device. A record that cannot be
/// written throws InputError; those before it are on the disk.
[[nodiscard]] SuiteResult measure_suite(Device& device, std::span<const Question> questions,
                                        const SuiteOptions& options);

/// The file in `folder` that holds records of this operation: "matmul.jsonl".
[[nodiscard]] std::string record_path(const std::string& folder, const model::Operation& operation);

}  // namespace ridge::measure
