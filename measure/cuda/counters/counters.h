// Hardware counters of one run of an operation, through CUPTI's range profiler.
//
// Method: automatic ranges (one per kernel) with user replay: the operation runs once per pass (4
// for all default groups on GH100). Each pass begins with `settle`, whose ranges are dropped. It
// brings the L2 into the state that the question asks for, and it writes back the 6 to 7 MB of
// dirty lines that the start of a pass leaves. Kernel replay would instead save and restore what a
// kernel writes, and leave up to 24 MB of dirty lines that are written back inside the range. Sums
// are added over kernels; shares and clocks are weighted by duration. Tensor work by type takes
// further passes (`tensor_types`) and is collected only when the default counters show mma.sync at
// work.
//
//   Maybe<std::unique_ptr<CounterProfiler>> opened = CounterProfiler::open(0);
//   Maybe<Counters> counted = profiler.collect({.launch = run, .stream = s, .kernels = 1,
//                                               .settle = flush, .settling_kernels = 1}, groups);
//
// Limits: the operation must do the same work on every run. Durations are only used as weights.
// Without permission the result is an Unavailable that says how to get it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/counters/metrics.h"
#include "measure/cuda/kernels/launch.h"
#include "measure/cuda/libraries/cupti.h"
#include "measure/record/observation.h"

namespace ridge::measure::cuda {

struct ProfiledRun {
    Launch launch;
    cudaStream_t stream = nullptr;
    std::size_t kernels = 1;  ///< kernels in one run
    /// Runs first in each pass and is not counted; lines that the start of a pass leaves dirty in
    /// the L2 are written to DRAM here.
    std::function<void()> settle{};
    std::size_t settling_kernels = 0;  ///< largest number of kernels that `settle` launches
};

class CounterProfiler {
  public:
    [[nodiscard]] static Maybe<std::unique_ptr<CounterProfiler>> open(int ordinal);

    [[nodiscard]] Maybe<Counters> collect(const ProfiledRun& run,
                                          std::span<const CounterGroup> groups);
    [[nodiscard]] const std::string& chip() const { return chip_; }

  private:
    CounterProfiler(const Cupti& cupti, std::string chip, std::vector<std::uint8_t> availability)
        : cupti_(&cupti), chip_(std::move(chip)), availability_(std::move(availability)) {}

    /// Values of every metric of `plan`, one row per kernel.
    [[nodiscard]] std::vector<std::vector<double>> rows(const ProfiledRun& run,
                                                        const ProfilePlan& plan);
    [[nodiscard]] const ProfilePlan& plan_of(const std::string& key,
                                             std::span<const Metric> metrics);

    const Cupti* cupti_;
    std::string chip_;
    std::vector<std::uint8_t> availability_;
    std::map<std::string, ProfilePlan> plans_;
};

/// One profiled kernel: metrics and their values.
struct KernelValues {
    std::span<const Metric> metrics;
    std::vector<double> values;
};

/// Combines the counters of an operation's kernels.
[[nodiscard]] Counters combine(std::span<const KernelValues> kernels);

/// Whether mma.sync instructions ran that the default metrics do not count as FLOP.
[[nodiscard]] bool needs_tensor_types(std::span<const KernelValues> kernels);

}  // namespace ridge::measure::cuda
