// CUPTI's range profiler in one context: what it can count, and counting one range per kernel.
//
//   const Maybe<ProfiledChip> chip = ProfiledChip::of(cupti, 0, context);
//   const ProfilePlan plan = plan_profile(cupti, chip.name, metrics, chip.availability);
//   const RangeProfiler profiler(cupti, context);
//   std::vector<std::uint8_t> data = profiler.empty_data(plan.metrics, 1);
//   profiler.configure(plan, data, 1, CUPTI_KernelReplay);
//   profiler.start();  launch();  profiler.stop();  profiler.decode();
//
// `Busy` is thrown when another program holds the counters or the driver denies them to this user.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/counters/metrics.h"
#include "measure/cuda/libraries/cupti.h"
#include "measure/record/observation.h"

namespace ridge::measure::cuda {

/// The reasons why the profiler refuses that are not failures: no permission, or another profiler.
[[nodiscard]] std::optional<Unavailable> refusal_of(CUptiResult result);

/// The profiler's name of a device's chip: "GH100". Needs no context, so it does not check
/// permission.
[[nodiscard]] Maybe<std::string> chip_of(const Cupti& cupti, int ordinal);

/// A device whose counters can be read.
struct ProfiledChip {
    std::string name;                        ///< the profiler's name: "GH100"
    std::vector<std::uint8_t> availability;  ///< the image of its counters

    [[nodiscard]] static Maybe<ProfiledChip> of(const Cupti& cupti, int ordinal, CUcontext context);
};

struct Busy {
    Unavailable reason;
};

/// A range profiler of one context, active for its lifetime.
class RangeProfiler {
  public:
    RangeProfiler(const Cupti& cupti, CUcontext context);
    ~RangeProfiler();
    RangeProfiler(const RangeProfiler&) = delete;
    RangeProfiler& operator=(const RangeProfiler&) = delete;

    /// An empty image with room for the counters of `ranges` kernels.
    [[nodiscard]] std::vector<std::uint8_t> empty_data(std::span<const Metric> metrics,
                                                       std::size_t ranges) const;
    /// Empties an image from `empty_data` again.
    void clear(std::vector<std::uint8_t>& data) const;
    /// Sets the configuration. `pass` counts only if nothing has been started yet; after that, each
    /// stop advances to the next pass, and from the last to the first.
    void configure(const ProfilePlan& plan, std::vector<std::uint8_t>& data, std::size_t ranges,
                   CUpti_ProfilerReplayMode replay, std::size_t pass = 0) const;
    void start() const;
    struct Stopped {
        bool all = false;           ///< every pass has run
        std::size_t next_pass = 0;  ///< pass of the next start
    };
    Stopped stop() const;
    /// Decodes the counters. DeviceError when kernels were dropped.
    void decode() const;

  private:
    void check(CUptiResult result, const char* call) const;

    const Cupti* cupti_;
    CUpti_RangeProfiler_Object* object_ = nullptr;
};

/// Number of kernels in a decoded image.
[[nodiscard]] std::size_t ranges_in(const Cupti& cupti, const std::vector<std::uint8_t>& data);

}  // namespace ridge::measure::cuda
