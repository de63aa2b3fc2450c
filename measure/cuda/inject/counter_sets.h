// The counters of `ridge profile --counters` in sets that one pass takes, and a context that counts
// launch after launch with one of them.
//
// Method: each set is a configuration of its own with a single pass, so nothing is replayed, saved or
// restored: a launch is counted where it stands, with what its predecessors left in the L2. Every
// launch while a set runs becomes one range, in their order. On GH100 three sets serve all kernels
// (DRAM, L2 and tensor instructions | work of the SMs' lanes and shared memory | occupancy and the tensor
// pipe), and one more each type of mma.sync.
//
//   ContextCounter counter(cupti, device, context);
//   counter.start(0);
//   launch(); launch();
//   const std::vector<std::vector<double>> values = counter.stop();   // of set 0, a row a launch
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/cuda/counters/counters.h"
#include "measure/cuda/counters/range_profiler.h"

namespace ridge::measure::cuda {

class ContextCounter {
  public:
    /// Busy where the counters cannot be had.
    ContextCounter(const Cupti& cupti, int device, CUcontext context);

    [[nodiscard]] const std::vector<ProfilePlan>& sets() const { return sets_; }
    /// The sets that every kernel needs, a bit each.
    [[nodiscard]] std::uint32_t common() const { return (1U << common_) - 1; }
    /// Those that count tensor work by type, a bit each.
    [[nodiscard]] std::uint32_t by_type() const;
    /// The set of the type that a kernel's name speaks of, or the first.
    [[nodiscard]] std::uint32_t likeliest_type(std::string_view kernel, std::uint32_t among) const;

    void start(unsigned set);
    /// Values of the set's metrics, a row a launch since `start`.
    [[nodiscard]] std::vector<std::vector<double>> stop();

  private:
    /// Adds the metrics as one set, or as several where one pass does not take them.
    void add_sets(const std::vector<Metric>& metrics);

    const Cupti* cupti_;
    ProfiledChip chip_;
    std::vector<ProfilePlan> sets_;
    std::size_t common_ = 0;
    std::unique_ptr<RangeProfiler> profiler_;
    std::unique_ptr<HostProfiler> host_;
    std::vector<std::vector<std::uint8_t>> data_;  ///< an image a set, made when first used
    unsigned running_ = 0;
};

}  // namespace ridge::measure::cuda
