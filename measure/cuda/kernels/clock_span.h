// The GPU's clocks at the start and the end of one block: SM cycles and nanoseconds.
//
// Method: thread 0 of a block reads clock64 (cycles of its multiprocessor) and globaltimer (ns) at
// both ends. The ratio of the differences is the actual SM clock; summing over blocks averages out
// the coarse tick of globaltimer.
//
// Example: mean_clock_hz(spans) == 1.98e9
// Limits: kernels of 100 us or more; globaltimer may tick only every 1 us.
#pragma once

#include <cstdint>
#include <vector>

namespace ridge::measure::cuda {

struct ClockSpan {
    std::int64_t first_cycle = 0;
    std::int64_t last_cycle = 0;
    std::int64_t first_nanosecond = 0;
    std::int64_t last_nanosecond = 0;
};

// Cycles per second over all spans; 0 if they contain no time.
[[nodiscard]] inline double mean_clock_hz(const std::vector<ClockSpan>& spans) {
    double cycles = 0;
    double nanoseconds = 0;
    for (const ClockSpan& span : spans) {
        cycles += static_cast<double>(span.last_cycle - span.first_cycle);
        nanoseconds += static_cast<double>(span.last_nanosecond - span.first_nanosecond);
    }
    return nanoseconds > 0 ? cycles / nanoseconds * 1e9 : 0;
}

// Seconds from the first block's start to the last block's end.
[[nodiscard]] inline double wall_seconds(const std::vector<ClockSpan>& spans) {
    if (spans.empty()) return 0;
    std::int64_t first = spans.front().first_nanosecond;
    std::int64_t last = spans.front().last_nanosecond;
    for (const ClockSpan& span : spans) {
        first = span.first_nanosecond < first ? span.first_nanosecond : first;
        last = span.last_nanosecond > last ? span.last_nanosecond : last;
    }
    return static_cast<double>(last - first) * 1e-9;
}

}  // namespace ridge::measure::cuda
