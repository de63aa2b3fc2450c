// The counters of `ridge profile --counters` in sets that one pass takes, and a context that counts
// launch after launch with one of them.
//
// Method: each set is a configuration of its own with a single pass, so nothing is replayed, saved or
// restored: a launch is counted where it stands, with what its predecessors left in the L2. Every
// launch while a set runs becomes one range, in their order. On GH100 two sets serve all kernels
// (DRAM, L2, occupancy, the tensor pipe and wgmma of 8 and 16 bits | work of the SMs' lanes and shared
// memory); kernels with other work on the tensor pipe, or with fp64, need one of the sets by type as well.
//
// Making a profiler takes a quarter of a second, going on to its next pass 2 to 40 ms. So where the chip takes
// all sets as passes of one configuration (pass_groups.h), a context keeps one profiler and goes round
// its passes; passes that nobody needs are started and stopped. Elsewhere each set has a profiler.
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
#include "measure/cuda/inject/set_turns.h"

namespace ridge::measure::cuda {

/// What is counted on a chip; made without a context.
class CounterSets {
  public:
    CounterSets(const Cupti& cupti, std::string chip);

    [[nodiscard]] const std::string& chip() const { return chip_; }
    [[nodiscard]] const ProfilePlan& operator[](unsigned set) const { return sets_[set]; }
    [[nodiscard]] std::size_t size() const { return sets_.size(); }
    [[nodiscard]] const HostProfiler& host() const { return *host_; }
    /// All sets as passes of one configuration; no passes where that is not to be had.
    [[nodiscard]] const ProfilePlan& together() const { return together_; }
    /// The pass of a set there: the counters of software come last.
    [[nodiscard]] std::size_t pass_of(unsigned set) const;

    /// The sets that every kernel needs, a bit each.
    [[nodiscard]] std::uint32_t common() const { return (1U << common_) - 1; }
    /// Those that count tensor work by type, a bit each.
    [[nodiscard]] std::uint32_t by_type() const;
    /// Of these, what a kernel of which this was seen needs.
    [[nodiscard]] std::uint32_t types_of(std::span<const KernelValues> seen) const;
    /// The set of the type that a kernel's name speaks of, or the first.
    [[nodiscard]] std::uint32_t likeliest_type(std::string_view kernel, std::uint32_t among) const;

  private:
    [[nodiscard]] std::vector<Metric> known_metrics(const std::vector<Metric>& metrics) const;
    /// Adds the metrics as one set, or as several where one pass does not take them.
    void add(const std::vector<Metric>& metrics);

    const Cupti* cupti_;
    std::string chip_;
    /// Makes `together_` of the sets.
    void gather();

    std::vector<ProfilePlan> sets_;
    ProfilePlan together_;
    std::size_t common_ = 0;
    std::unique_ptr<HostProfiler> host_;
};

/// One profiler that goes round its passes, or one for each set where that is not to be had.
enum class Profilers : std::uint8_t { one, one_a_set };

class ContextCounter {
  public:
    ContextCounter(const Cupti& cupti, CUcontext context, std::shared_ptr<const CounterSets> sets,
                   Profilers profilers = Profilers::one)
        : cupti_(&cupti),
          context_(context),
          sets_(std::move(sets)),
          together_(profilers == Profilers::one && sets_->together().passes > 0),
          ranges_(profilers == Profilers::one ? SetTurns::most_launches
                                              : SetTurns::launches_of_one_set) {}

    [[nodiscard]] const CounterSets& sets() const { return *sets_; }
    /// Launches that it counts between a start and a stop.
    [[nodiscard]] std::size_t most_launches() const { return ranges_; }
    /// Of these sets (a bit each) the one that is started soonest.
    [[nodiscard]] unsigned nearest(std::uint32_t among) const;
    /// Busy where the counters cannot be had.
    void start(unsigned set);
    /// Values of the set's metrics, a row a launch since `start`.
    [[nodiscard]] std::vector<std::vector<double>> stop();

  private:
    const Cupti* cupti_;
    CUcontext context_;
    std::shared_ptr<const CounterSets> sets_;
    /// The configuration in which a set is counted.
    [[nodiscard]] const ProfilePlan& plan_of(unsigned set) const;
    void begin(unsigned set);
    /// Makes a profiler for `set`.
    void open(unsigned set);
    /// From now on each set has a profiler.
    void apart();
    /// Goes on to the pass of `set`, from a stop.
    void go_to(std::size_t pass);

    std::unique_ptr<RangeProfiler> profiler_;
    std::vector<std::uint8_t> data_;  ///< knows only the profiler that made it
    bool together_;
    std::size_t ranges_;
    std::size_t next_pass_ = 0;
    unsigned running_ = 0;
};

}  // namespace ridge::measure::cuda
