// Combines the times of several resources into one. This is the only place that decides how.
//
//   combined({dram, l2, fma, special}, pipes)         // nearly the largest: pipes run side by side
//   combined({throughput, latency}, bytes_in_flight)  // bends where few bytes are in flight
//
// Method: the p-norm (sum of t^p)^(1/p), equation B1 of docs/model.md. p = 1 adds the times
// (nothing overlaps), p = infinity takes the largest (everything overlaps). In between, the result
// bends smoothly from one limiter to the other. Limits: a single term gives that term; a term r
// times smaller than the largest adds at most r^-p / p of it; two equal terms give 2^(1/p) of one;
// a longer term never shortens the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "hardware/quantity.h"
#include "model/core/power.h"

namespace ridge::model {

/// How far resources overlap, as the exponent of the norm.
struct Overlap {
    double exponent = 1.0;
};

/// Independent pipes of one kernel: two equal times cost 15 % more than one.
inline constexpr Overlap pipes{5.0};

/// Throughput against latency: Little's law with the queueing that sets in before saturation.
/// Fitted to bandwidth ramps; two equal terms cost 37 % more than one.
inline constexpr Overlap bytes_in_flight{2.2};

/// The time of work whose resources take `times`, each at least 0. (eq. B1)
[[nodiscard]] inline Time combined(std::initializer_list<Time> times, Overlap overlap) {
    const Time largest = std::max(times);
    if (largest <= Time{}) return Time{};
    double sum = 0.0;
    for (const Time time : times) {
        if (time == largest) {
            sum += 1.0;
        } else if (time > Time{}) {
            sum += power(time / largest, overlap.exponent);
        }
    }
    return sum == 1.0 ? largest : largest * std::pow(sum, 1.0 / overlap.exponent);
}

}  // namespace ridge::model
