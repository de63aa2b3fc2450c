// What launching adds to the durations of kernels, defined once for every operation.
//
//   const LaunchCosts costs = resolve_launch(gpu, laws);
//   launch_overhead(costs, LaunchMode::graph, 3, duration)   // three gaps between kernels
//
// Method (equation B8 of docs/model.md). The duration of a kernel, as activity records show it,
// includes the time `kernel` of an empty one. A node of a replayed graph takes its duration and the
// gap graph - kernel: empty nodes follow each other every `graph`, since most of an empty kernel is
// its own start and end. A call in a stream is what two events around it measure on an idle GPU:
// `call` for an empty kernel, then the further kernels as the host submits them, one every
// `stream`.
//
// Limits: one call at a time. The dispatch of a framework is not included (`model.eager.launch`,
// `model.matmul.stream_launch`), nor is the gap of library kernels in the public tables
// (`library_gaps`).
#pragma once

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/core/implementation.h"
#include "model/machine/scaling.h"

namespace ridge::model {

struct LaunchCosts {
    Time kernel{};  ///< duration of an empty kernel
    Time graph{};   ///< per empty kernel of a replayed graph, at least `kernel`
    Time stream{};  ///< per empty kernel launched back to back, at least `graph`
    Time call{};    ///< one empty kernel in an idle stream, between two events

    [[nodiscard]] Time gap() const { return graph - kernel; }
};

/// Reads the section `launch`. Missing fields are estimated from those that the description has and
/// from `laws`; all are zero if it has none.
[[nodiscard]] LaunchCosts resolve_launch(const hardware::Description& gpu, const Laws& laws);

/// The time added to the durations of `kernels` kernels that take `duration` each. (eq. B8)
[[nodiscard]] Time launch_overhead(const LaunchCosts& costs, LaunchMode mode, double kernels,
                                   Time duration);

}  // namespace ridge::model
