// When a measurement is good enough: the method, the stopping rule, and the loop that obeys them.
//
//   const Maybe<Method> method = choose_method(estimate, launches, question, device.info());
//   const Timing timing = take_samples(unit, method, question, {.seconds = 0.5}, hooks);
//
// Method: events resolve about 0.5 us and read up to 10 us too much under tracing, so from 20 us on
// they are within a few percent of the kernel's own duration and below that the driver's activity
// records are used, which also give the sum of the kernels of an operation without the gaps between
// them. What is asked for as a replayed graph is timed so. Sampling stops when the 95 % interval of
// the median is within `relative_half_width` on either side, or when the budget is spent; throttled
// samples count for neither and are reported. The method follows NVIDIA nvbench.
//
// Limits: the interval speaks of repeatability within one run; clocks, heat and data move the
// median of another run by more (about 2 %).
#pragma once

#include <functional>
#include <span>

#include "measure/record/record.h"
#include "measure/run/device.h"

namespace ridge::measure {

struct SamplingOptions {
    double seconds = 0.5;                ///< wall time to spend on one measurement
    double relative_half_width = 0.005;  ///< of the interval of the median
    std::int64_t fewest = 12;            ///< steady samples before the interval is trusted
    std::int64_t most = 2000;
};

/// What a run may ask of the world around it; tests replace both.
struct Hooks {
    std::function<double()> seconds;    ///< monotonic wall clock
    std::function<bool()> interrupted;  ///< the user wants to stop
};
[[nodiscard]] Hooks real_hooks();

/// Whether the samples so far meet the stopping rule.
[[nodiscard]] bool converged(std::span<const Sample> samples, const SamplingOptions& options);

/// Shortest time that events measure well; shorter kernels and sequences need activity records.
inline constexpr Time shortest_for_events = 20.0 * units::us;

/// Unavailable when the machine lacks what the question needs: several kernels or a cold L2 without
/// activity records.
[[nodiscard]] Maybe<Method> choose_method(Time estimate, std::int64_t launches,
                                          const Question& question, const DeviceInfo& info);

/// Samples until converged, out of budget or interrupted; the samples may then be fewer than
/// `fewest` and the statistics absent.
[[nodiscard]] Timing take_samples(Case& unit, Method method, const Question& question,
                                  const SamplingOptions& options, const Hooks& hooks);

/// Clock, statistics and number of discarded samples of a timing that has its samples.
void settle(Timing& timing, const SamplingOptions& options);

}  // namespace ridge::measure
