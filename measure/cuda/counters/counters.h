// Hardware counters of one run of an operation, through CUPTI's range profiler.
//
// Method: automatic ranges (one per kernel) with user replay: the operation is run once per pass (4
// for all default groups on GH100). Each pass begins with `settle`, whose ranges are dropped: it brings
// the L2 into the state of the question, and the 6 to 7 MB of dirty lines that the start of a pass leaves
// are written back in it. Kernel replay would save and restore what a kernel writes, and leave up to 24 MB
// of dirty lines that are written back inside the range. Sums are added over kernels, shares and clocks
// weighted by duration. Tensor work by type takes 6 more passes and is collected only when the
// default counters show mma.sync at work.
//
//   Maybe<std::unique_ptr<CounterProfiler>> opened = CounterProfiler::open(0);
//   Maybe<Counters> counted = profiler.collect({.launch = run, .stream = s, .kernels = 1,
//                                               .settle = flush, .settling_kernels = 1}, groups);
//
// Limits: the operation must do the same on every run. Durations are only used as weights. Without
// permission: Unavailable with how to get it.
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
    std::size_t kernels = 1;  ///< in one run
    /// Runs first in each pass and is not counted: what the start of a pass leaves to write back in
    /// the L2 goes to DRAM here.
    std::function<void()> settle{};
    std::size_t settling_kernels = 0;  ///< at most, of `settle`
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

/// The counters of an operation from those of its kernels.
[[nodiscard]] Counters combine(std::span<const KernelValues> kernels);

/// mma.sync instructions ran that the default metrics do not count as FLOP.
[[nodiscard]] bool needs_tensor_types(std::span<const KernelValues> kernels);

}  // namespace ridge::measure::cuda
