// The counters of `ridge profile --counters` in sets that one pass takes, and a context that counts
// launch after launch with one of them.
//
// Method: each set is a configuration of its own with a single pass, so nothing is replayed, saved or
// restored: a launch is counted where it stands, with what its predecessors left in the L2. Every
// launch while a set runs becomes one range, in their order. On GH100 three sets serve all kernels
// (DRAM, L2 and tensor instructions | work of the SMs' lanes and shared memory | occupancy and the tensor
// pipe), and one more each type of mma.sync.
//
//   ContextCounter counter(cupti, context, std::make_shared<CounterSets>(cupti, "GH100"));
//   counter.start(0);
//   launch(); launch();
//   const std::vector<std::vector<double>> values = counter.stop();   // of set 0, a row a launch
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/cuda/counters/counters.h"
#include "measure/cuda/counters/range_profiler.h"

namespace ridge::measure::cuda {

/// What is counted on a chip; made without a context.
class CounterSets {
  public:
    CounterSets(const Cupti& cupti, std::string chip);

    [[nodiscard]] const std::string& chip() const { return chip_; }
    [[nodiscard]] const ProfilePlan& operator[](unsigned set) const { return sets_[set]; }
    [[nodiscard]] std::size_t size() const { return sets_.size(); }
    [[nodiscard]] const HostProfiler& host() const { return *host_; }

    /// The sets that every kernel needs, a bit each.
    [[nodiscard]] std::uint32_t common() const { return (1U << common_) - 1; }
    /// Those that count tensor work by type, a bit each.
    [[nodiscard]] std::uint32_t by_type() const;
    /// The set of the type that a kernel's name speaks of, or the first.
    [[nodiscard]] std::uint32_t likeliest_type(std::string_view kernel, std::uint32_t among) const;

  private:
    [[nodiscard]] std::vector<Metric> known_metrics(const std::vector<Metric>& metrics) const;
    /// Adds the metrics as one set, or as several where one pass does not take them.
    void add(const std::vector<Metric>& metrics);

    const Cupti* cupti_;
    std::string chip_;
    std::vector<ProfilePlan> sets_;
    std::size_t common_ = 0;
    std::unique_ptr<HostProfiler> host_;
};

class ContextCounter {
  public:
    ContextCounter(const Cupti& cupti, CUcontext context, std::shared_ptr<const CounterSets> sets)
        : cupti_(&cupti), context_(context), sets_(std::move(sets)), data_(sets_->size()) {}

    [[nodiscard]] const CounterSets& sets() const { return *sets_; }
    /// Busy where the counters cannot be had.
    void start(unsigned set);
    /// Values of the set's metrics, a row a launch since `start`.
    [[nodiscard]] std::vector<std::vector<double>> stop();

  private:
    const Cupti* cupti_;
    CUcontext context_;
    std::shared_ptr<const CounterSets> sets_;
    std::unique_ptr<RangeProfiler> profiler_;
    std::vector<std::vector<std::uint8_t>> data_;  ///< an image a set, made when first used
    unsigned configured_ = 0;                      ///< the set of `profiler_`
    unsigned running_ = 0;
};

}  // namespace ridge::measure::cuda
