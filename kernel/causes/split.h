// Why a kernel takes as long as it does: an ideal time, and what each cause adds to it.
//
// Method (equations KC1 to KC16 of docs/kernel.md). The measured time is taken apart from outside
// in; each step has its own counters, and the parts sum to the measured time:
//   launch       what an empty kernel takes
//   imbalance    multiprocessors that have run out of blocks
//   resources    from the busiest resource's time down to the ideal, the waste of the busiest first
//   latency      what is left, shared out by the stall reasons of the warp schedulers
//   unexplained  what no counter explains; it is never spread over the causes
// The ideal is the time of the work at the roof that the kernel should meet: the DRAM and L2 bytes
// that it needs at the rate of a good stream, or its FLOP at the peak of their pipe at the clock that
// was measured.
//
//   const std::optional<Split> split = split_causes(counted, roofs);
//   split->parts.front().cause          // Cause::bank_conflicts
//   split->parts.front().seconds        // of the measured time
//   split->parts.front().saves          // what removing it alone would give
//   sentences_of(*split)                // the three largest, as text
//
// Limits: a cause that no counter sees is unexplained, such as a better algorithm. When the busiest
// resource is within a tenth of the measured time, the rest is not divided: the roofs are not known
// better than that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/causes/latency.h"
#include "kernel/causes/loads.h"

namespace ridge::kernel {

struct Part {
    Cause cause = Cause::launch;
    double seconds = 0.0;  ///< of the measured time
    double saves = 0.0;    ///< s that the kernel would be faster without this cause alone
    std::string detail;    ///< "31 of 32 wavefronts are repeats"
    std::string where{};   ///< "matmul.cu:57 has 80 % of these waits", if samples say so
};

struct Split {
    double measured = 0.0;  ///< s; ideal + parts + unexplained
    double ideal = 0.0;
    Resource roof = Resource::dram;  ///< of the ideal
    /// "memory" or "compute"; empty if no FLOP were counted.
    std::string bound;
    std::vector<Part> parts;  ///< the largest first
    double unexplained = 0.0;
    std::vector<LineStalls> lines{};  ///< where warps wait, the most first; empty without samples
    Loads loads;
    Residency residency;

    [[nodiscard]] const Part* of(Cause cause) const;
};

/// Empty if nothing was counted or the time is not positive.
[[nodiscard]] std::optional<Split> split_causes(const Counted& counted, const Roofs& roofs);

/// The causes of at least `least` of the measured time, at most three, each as a sentence with what
/// removing it would give.
[[nodiscard]] std::vector<std::string> sentences_of(const Split& split, double least = 0.05);

}  // namespace ridge::kernel
