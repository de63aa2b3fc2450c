// The options that `ridge profile` passes to the library that it loads into a program: one
// environment variable with lines of the form KEY=VALUE.
//
//   setenv(recording_variable, to_text({.prefix = "/tmp/run", .run = 7}).c_str(), 1);
//   const auto options = recording_options_of(getenv(recording_variable));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ridge::programs {

inline constexpr const char* recording_variable = "RIDGE_RECORDING";

struct RecordingOptions {
    std::string prefix;            ///< files are PREFIX.PID.ridge or PREFIX.rankN.PID.ridge
    std::uint64_t run = 0;         ///< the same in all files of one run
    bool wait_for_start = false;   ///< record only between cudaProfilerStart and -Stop
    bool whole_graphs = false;     ///< one record per replayed graph, not one per kernel
    std::int64_t delay_ms = 0;     ///< after the program's first use of CUDA
    std::int64_t duration_ms = 0;  ///< 0: until the program ends
    std::int64_t counted = 0;      ///< launches of each kernel to count; 0: times instead
    std::int64_t sample_ns = 0;    ///< interval of the samples; 0: none
    bool once = false;             ///< each distinct launch occurs only once
    bool repeats = false;          ///< launches may be repeated within the run to count them
    bool stalls = false;           ///< sample what warps wait for; times are not recorded then
    bool continued = false;        ///< `earlier_file` lists what earlier runs left uncounted
};

/// Path of the file with the sets of counters that earlier runs left uncounted
/// (counted_launches.h).
[[nodiscard]] std::string earlier_file(const std::string& prefix);

[[nodiscard]] std::string to_text(const RecordingOptions& options);

/// Empty if there is no prefix.
[[nodiscard]] std::optional<RecordingOptions> recording_options_of(std::string_view text);

}  // namespace ridge::programs
