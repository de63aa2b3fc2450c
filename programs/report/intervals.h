// Sets of time as sorted intervals that do not touch.
//
//   const Intervals exposed = without(merged(communication), merged(computing));
//   length_of(exposed)
//
// Limits: `without` and `common` take merged intervals.
#pragma once

#include <cstdint>
#include <vector>

namespace ridge::programs {

struct Interval {
    std::int64_t from = 0;
    std::int64_t to = 0;

    friend bool operator==(const Interval&, const Interval&) = default;
};
using Intervals = std::vector<Interval>;

/// Sorted, with overlapping and touching intervals joined and empty ones left out.
[[nodiscard]] Intervals merged(Intervals intervals);
/// The parts of `these` that are not in `others`.
[[nodiscard]] Intervals without(const Intervals& these, const Intervals& others);
[[nodiscard]] Intervals common(const Intervals& these, const Intervals& others);
[[nodiscard]] std::int64_t length_of(const Intervals& intervals);

}  // namespace ridge::programs
