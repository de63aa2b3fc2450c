// Where the warps of a kernel wait, and for what: samples of the warp schedulers by instruction and
// source line.
//
//   const std::vector<LineStalls> lines = worst_lines(sites, 3);
//   lines.front().place          // "matmul.cu:42"; "+0xa40" in code without line information
//   lines.front().share          // 0.63: of all samples of warps that wait
//   lines.front().reason         // "memory"
//   place_of(Cause::barriers, sites)     // "matmul.cu:57 has 80 % of these waits"
//
// Method: the samples of all instructions of a line are added up. A warp that waits for a value
// stands at the instruction that needs it, not at the load. Warps that issue, or could and were not
// chosen, do not wait.
//
// Limits: launches of one kernel are added up, whatever their grid.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernel/causes/cause.h"

namespace ridge::kernel {

/// Samples at one instruction, by stall reason ("long_scoreboard").
struct StallSite {
    std::string file{};  ///< empty without line information
    std::int64_t line = 0;
    std::uint64_t address = 0;  ///< from the start of the kernel's code
    std::map<std::string, double> samples{};
};

struct LineStalls {
    std::string place;
    std::string file;    ///< whole path; empty without line information
    double share = 0.0;  ///< of all samples of warps that wait
    std::string reason;  ///< the most frequent one, in words
    double of_it = 0.0;  ///< its share of the line's waits
};

/// Sorted by share.
[[nodiscard]] std::vector<LineStalls> worst_lines(std::span<const StallSite> sites,
                                                  std::size_t most);

/// The line with most of the waits that belong to a cause, as a clause; empty if none has a fifth
/// of them.
[[nodiscard]] std::string place_of(Cause cause, std::span<const StallSite> sites);

/// Adds the sums by reason under the names of the profiler's sampling metrics, as a substitute for
/// counters of stall reasons.
void add_sampled_reasons(std::map<std::string, double>& metrics, std::span<const StallSite> sites);

}  // namespace ridge::kernel
