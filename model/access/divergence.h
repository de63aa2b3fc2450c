// Warps whose threads choose between two branches at random.
//
//   both_branches(0.5)                  // 1: some thread of 32 nearly always takes either branch
//   branch_time(0.05, 100.0, 100.0)     // 180.6: of 100 + 100 where both are always taken
//
// Method: docs/model.md equation P6. The threads of a warp choose independently; a warp issues a
// branch when at least one of its threads takes it, for the whole length of the branch.
// Limits: one branch, no loop; a loop runs as long as the thread of the warp that stays longest.
#pragma once

#include <cstdint>

namespace ridge::model {

inline constexpr std::int64_t warp_lanes = 32;

/// Probability that a warp issues both branches if each thread takes the first with `probability`.
[[nodiscard]] double both_branches(double probability, std::int64_t lanes = warp_lanes);

/// Expected time of a warp over branches that take `taken` and `other`.
[[nodiscard]] double branch_time(double probability, double taken, double other,
                                 std::int64_t lanes = warp_lanes);

}  // namespace ridge::model
