// What `ridge profile` tells the library that it loads into a program: one environment variable, lines
// of KEY=VALUE.
//
//   setenv(recording_variable, to_text({.prefix = "/tmp/run", .run = 7}).c_str(), 1);
//   const std::optional<RecordingOptions> options = recording_options_of(getenv(recording_variable));
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
    bool whole_graphs = false;     ///< one entry per replayed graph, not one per kernel
    std::int64_t delay_ms = 0;     ///< after the program's first use of CUDA
    std::int64_t duration_ms = 0;  ///< 0: to the end
    std::int64_t counted = 0;      ///< launches of each kernel to count; 0: times instead
    std::int64_t sample_ns = 0;    ///< interval of the samples; 0: none
    bool once = false;             ///< no distinct launch comes twice
    bool repeats = false;          ///< launches may be repeated within the run, to be counted
    bool continued = false;        ///< `earlier_file` says what earlier runs left to count
};

/// Where the sets of counters stand that earlier runs left to count (counted_launches.h).
[[nodiscard]] std::string earlier_file(const std::string& prefix);

[[nodiscard]] std::string to_text(const RecordingOptions& options);

/// Nothing where there is no prefix.
[[nodiscard]] std::optional<RecordingOptions> recording_options_of(std::string_view text);

}  // namespace ridge::programs
