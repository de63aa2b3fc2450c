// How a measurement samples: the choice of method, the stopping rule, and the sampling loop.
//
//   const Maybe<Method> method = choose_method(estimate, launches, question, device.info());
//   const Timing timing = take_samples(unit, method, question, {.seconds = 0.5}, hooks);
//
// Method: events resolve about 0.5 us and read up to 10 us too much under tracing, so from 20 us on
// they are within a few percent of the kernel's own duration. Shorter times come from the driver's
// activity records, which also give the sum of an operation's kernels without the gaps between
// them. A question with launch=graph is timed as a replayed graph. Collectives between GPUs have
// methods of their own: kernels that start together, a graph, or many calls in a row. Sampling stops when the 95 %
// interval of the median is within `relative_half_width` on either side, or when the budget is
// spent. Throttled samples count towards neither rule and are reported. The method follows NVIDIA
// nvbench.
//
// Limits: the interval describes repeatability within one run; clocks, heat and data change the
// median between runs by more (about 2 %).
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

/// The clock and the interrupt check of a run; tests replace both.
struct Hooks {
    std::function<double()> seconds;    ///< monotonic wall clock
    std::function<bool()> interrupted;  ///< true when the user wants to stop
};
[[nodiscard]] Hooks real_hooks();

/// Whether the samples so far meet the stopping rule.
[[nodiscard]] bool converged(std::span<const Sample> samples, const SamplingOptions& options);

/// Shortest time that events measure well; shorter kernels and sequences of kernels need activity
/// records.
inline constexpr Time shortest_for_events = 20.0 * units::us;

/// Unavailable for a dirty L2, for a cold L2 in a graph and, without activity records, for several
/// kernels and for a short kernel with a cold L2.
[[nodiscard]] Maybe<Method> choose_method(Time estimate, std::int64_t launches,
                                          const Question& question, const DeviceInfo& info);

/// Samples until converged, out of budget or interrupted. There may then be fewer samples than
/// `fewest` and no statistics.
[[nodiscard]] Timing take_samples(Case& unit, Method method, const Question& question,
                                  const SamplingOptions& options, const Hooks& hooks);

/// Fills in the clock, the statistics and the number of discarded samples from the samples.
void settle(Timing& timing, const SamplingOptions& options);

}  // namespace ridge::measure
