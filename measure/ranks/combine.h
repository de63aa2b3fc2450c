// The time of a collective from what each GPU saw.
//
// Method: an operation that needs all GPUs cannot begin before the last of them starts, and is done
// when the last of them ends. So its time is (latest end) - (latest start), with all starts on one
// timer. The skew, (latest start) - (earliest start), is removed that way and kept.
//
//   const Sample s = combine({{.start = 0 us, .duration = 9 us}, {.start = 1 us, .duration = 8 us}},
//                            {.repetitions = 1});
//   s.time   // 8 us; *s.skew == 1 us
#pragma once

#include <span>
#include <vector>

#include "measure/ranks/rank.h"

namespace ridge::measure {

/// One sample of all ranks, for one repetition. There must be at least one rank.
[[nodiscard]] Sample combine(std::span<const RankSample> ranks, const RankSampleRequest& request);

/// The worst verdict, with all compared elements.
[[nodiscard]] Verification worst(std::span<const RankVerdict> verdicts);

}  // namespace ridge::measure
