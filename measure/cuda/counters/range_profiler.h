// CUPTI's range profiler in one context: what it can count, and counting one range a kernel.
//
//   const Maybe<ProfiledChip> chip = ProfiledChip::of(cupti, 0, context);
//   const ProfilePlan plan = plan_profile(cupti, chip.name, metrics, chip.availability);
//   const RangeProfiler profiler(cupti, context);
//   std::vector<std::uint8_t> data = profiler.empty_data(plan.metrics, 1);
//   profiler.configure(plan, data, 1, CUPTI_KernelReplay);
//   profiler.start();  launch();  profiler.stop();  profiler.decode();
//
// `Busy` is thrown where somebody else holds the counters or the driver keeps them from this user.
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

/// The fair refusals among the results of the profiler: no permission, or another one at work.
[[nodiscard]] std::optional<Unavailable> refusal_of(CUptiResult result);

/// What the profiler calls a device's chip: "GH100". It takes no context, so not the permission either.
[[nodiscard]] Maybe<std::string> chip_of(const Cupti& cupti, int ordinal);

/// A device whose counters can be read.
struct ProfiledChip {
    std::string name;                        ///< as the profiler calls it: "GH100"
    std::vector<std::uint8_t> availability;  ///< the image of its counters

    [[nodiscard]] static Maybe<ProfiledChip> of(const Cupti& cupti, int ordinal, CUcontext context);
};

struct Busy {
    Unavailable reason;
};

/// A range profiler of one context, switched on for its lifetime.
class RangeProfiler {
  public:
    RangeProfiler(const Cupti& cupti, CUcontext context);
    ~RangeProfiler();
    RangeProfiler(const RangeProfiler&) = delete;
    RangeProfiler& operator=(const RangeProfiler&) = delete;

    /// An image that takes the counters of `ranges` kernels.
    [[nodiscard]] std::vector<std::uint8_t> empty_data(std::span<const Metric> metrics,
                                                       std::size_t ranges) const;
    /// Makes an image of `empty_data` empty again.
    void clear(std::vector<std::uint8_t>& data) const;
    /// `pass` counts where nothing was started yet; after that each stop goes on to the next one, and
    /// from the last to the first.
    void configure(const ProfilePlan& plan, std::vector<std::uint8_t>& data, std::size_t ranges,
                   CUpti_ProfilerReplayMode replay, std::size_t pass = 0) const;
    void start() const;
    struct Stopped {
        bool all = false;           ///< every pass has run
        std::size_t next_pass = 0;  ///< of the next start
    };
    Stopped stop() const;
    /// DeviceError where kernels were dropped.
    void decode() const;

  private:
    void check(CUptiResult result, const char* call) const;

    const Cupti* cupti_;
    CUpti_RangeProfiler_Object* object_ = nullptr;
};

/// Kernels in a decoded image.
[[nodiscard]] std::size_t ranges_in(const Cupti& cupti, const std::vector<std::uint8_t>& data);

}  // namespace ridge::measure::cuda
