// Measures questions on a device and saves the results.
//
//   const Record record = *measure_one(device, question, options);
//   const SuiteOptions into{.folder = "records"};
//   const SuiteResult result = measure_suite(device, suite(Suite::quick, 90), into);
//
// Order of one measurement: prepare, verify against the CPU, probe, choose the method, sample,
// count. A case with a wrong result is never timed. A case that cannot be prepared or that fails
// becomes a record with the reason, and the run continues. Each finished record is on disk before
// the next case begins; a second run into the same folder skips what is already there.
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

/// How energy is measured. Idle power that is known is not measured again.
struct EnergyOptions {
    SteadyRequest run{};
    std::optional<Power> idle{};
    std::optional<Power> idle_up{};
};

struct MeasureOptions {
    SamplingOptions sampling{};
    std::optional<EnergyOptions> energy{};  ///< empty: energy is not measured
    std::vector<CounterGroup> counters{CounterGroup::traffic, CounterGroup::arithmetic,
                                       CounterGroup::tensor};  ///< empty: no counters are read
    std::string tool = "ridge";
    MachineReference reference{};  ///< kept in each record
    Hooks hooks = real_hooks();
};

/// Empty when interrupted before the record is complete. `choose` replaces `automatic`.
[[nodiscard]] std::optional<Record> measure_one(Device& device, Question question,
                                                const MeasureOptions& options);

/// Progress of a suite, for a progress bar.
struct SuiteProgress {
    std::int64_t done = 0;  ///< cases of this run, without skipped ones
    std::int64_t total = 0;
    double seconds = 0.0;                  ///< since the run began
    std::optional<double> seconds_left{};  ///< estimated from the pace so far
    std::string current{};                 ///< the question about to be measured; empty at the end
};

enum class Failures : std::uint8_t { keep, retry };

struct SuiteOptions {
    MeasureOptions measuring{};
    std::string folder{};                ///< created if missing; empty: nothing is written
    double seconds = 0.0;                ///< time limit of the whole suite; 0: none
    Failures failures = Failures::keep;  ///< whether recorded failures are measured again
    std::function<void(const SuiteProgress&)> progress{};
};

struct SuiteResult {
    std::vector<Record> records;  ///< of this run, in order
    std::int64_t skipped = 0;     ///< already in the folder
    std::int64_t remaining = 0;   ///< not reached
    bool interrupted = false;
    std::optional<std::string> stopped{};  ///< why the device could not go on
    std::vector<Damage> damaged{};         ///< lines of the folder that could not be read
};

/// Measures the questions that the folder does not yet answer for this device. InputError when a
/// record cannot be written; earlier records are then already on disk.
[[nodiscard]] SuiteResult measure_suite(Device& device, std::span<const Question> questions,
                                        const SuiteOptions& options);

/// The file in `folder` that holds records of this operation: "matmul.jsonl".
[[nodiscard]] std::string record_path(const std::string& folder, const model::Operation& operation);

}  // namespace ridge::measure
