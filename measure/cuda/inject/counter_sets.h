// The counters of `ridge profile --counters`, divided into sets that each take one pass, and a
// context that counts launch after launch with one of the sets.
//
// Method: each set is a separate configuration with a single pass, so nothing is replayed, saved or
// restored. A launch is counted in place, with the L2 as earlier launches left it. Every launch
// while a set runs becomes one range, in order. On GH100 two sets are enough for most kernels
// (DRAM, L2, occupancy, the tensor pipe and wgmma of 8 and 16 bits | work of the SMs' lanes and
// shared memory). Kernels with other work on the tensor pipe, or with fp64, also need one of the
// sets by type.
//
// Creating a profiler takes a quarter of a second; advancing to its next pass takes 2 to 40 ms. If
// the chip accepts all sets as passes of one configuration (pass_groups.h), a context therefore
// keeps one profiler and cycles through its passes; unneeded passes are started and stopped.
// Otherwise each set has a profiler.
//
//   ContextCounter counter(cupti, context, std::make_shared<CounterSets>(cupti, "GH100"));
//   counter.start(0);
//   launch(); launch();
//   const std::vector<std::vector<double>> values = counter.stop();   // set 0, a row per launch
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

/// What is counted on a chip; can be made without a context.
class CounterSets {
  public:
    CounterSets(const Cupti& cupti, std::string chip);

    [[nodiscard]] const std::string& chip() const { return chip_; }
    [[nodiscard]] const ProfilePlan& operator[](unsigned set) const { return sets_[set]; }
    [[nodiscard]] std::size_t size() const { return sets_.size(); }
    [[nodiscard]] const HostProfiler& host() const { return *host_; }
    /// All sets as passes of one configuration; has no passes if that is not possible.
    [[nodiscard]] const ProfilePlan& together() const { return together_; }
    /// The pass of a set in that configuration; counters provided by software come last.
    [[nodiscard]] std::size_t pass_of(unsigned set) const;

    /// The sets that every kernel needs, one bit each.
    [[nodiscard]] std::uint32_t common() const { return bits(0, types_) | bits(causes_, size()); }
    /// The sets that count tensor work by type, one bit each.
    [[nodiscard]] std::uint32_t by_type() const;
    /// The sets by type that a kernel needs, given the counters seen so far.
    [[nodiscard]] std::uint32_t types_of(std::span<const KernelValues> seen) const;
    /// The set of the type that a kernel's name suggests, otherwise the first.
    [[nodiscard]] std::uint32_t likeliest_type(std::string_view kernel, std::uint32_t among) const;

  private:
    [[nodiscard]] std::vector<Metric> known_metrics(const std::vector<Metric>& metrics) const;
    /// Adds the metrics as one set, or as several if one pass does not hold them.
    void add(const std::vector<Metric>& metrics);

    const Cupti* cupti_;
    std::string chip_;
    /// Makes `together_` from the sets.
    void gather();
    /// What every kernel needs: bytes and work.
    void add_work();
    void add_types();
    [[nodiscard]] static std::uint32_t bits(std::size_t first, std::size_t end) {
        return (std::uint32_t{1} << end) - (std::uint32_t{1} << first);
    }

    std::vector<ProfilePlan> sets_;
    ProfilePlan together_;
    std::size_t types_ = 0;   ///< the first set that counts tensor work by type
    std::size_t causes_ = 0;  ///< the first set after these: of stalls, pipes, conflicts
    std::unique_ptr<HostProfiler> host_;
};

/// One profiler that cycles through its passes (if possible), or one for each set.
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
    /// Largest number of launches counted between a start and a stop.
    [[nodiscard]] std::size_t most_launches() const { return ranges_; }
    /// The one of these sets (one bit each) that can start soonest.
    [[nodiscard]] unsigned nearest(std::uint32_t among) const;
    /// Starts counting with a set. Throws Busy when the counters are not available.
    void start(unsigned set);
    /// Gives the profiler up, for example because code is unloaded that it has changed; nothing may
    /// be running. The next start makes a new one.
    void forget() { profiler_.reset(); }
    /// Stops and returns the values of the set's metrics, one row per launch since `start`.
    [[nodiscard]] std::vector<std::vector<double>> stop();

  private:
    const Cupti* cupti_;
    CUcontext context_;
    std::shared_ptr<const CounterSets> sets_;
    /// The configuration in which a set is counted.
    [[nodiscard]] const ProfilePlan& plan_of(unsigned set) const;
    void begin(unsigned set);
    /// Creates a profiler for `set`.
    void open(unsigned set);
    /// Switches to one profiler per set.
    void apart();
    /// Advances to the pass of `set`; nothing may be running.
    void go_to(std::size_t pass);

    std::unique_ptr<RangeProfiler> profiler_;
    std::vector<std::uint8_t> data_;  ///< valid only for the profiler that made it
    bool together_;
    std::size_t ranges_;
    std::size_t next_pass_ = 0;
    unsigned running_ = 0;
};

}  // namespace ridge::measure::cuda
