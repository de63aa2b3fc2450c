// How busy the GPU was: kernel time, idle time, and whether the host was the reason.
//
//   const Timeline timeline = timeline_of(trace);
//   timeline.idle_ns();        // no kernel, copy or fill on the GPU, from the first to the last one
//   timeline.host_late_ns;     // of that: the next launch was issued only after the GPU ran dry
//
// A gap before a kernel is the host's as long as the call that launched that kernel had not returned;
// what is left of it is the GPU's own way from one kernel to the next. Kernels whose launch is not in
// the trace (those of a replayed graph beyond the first) leave their gaps to the GPU. Communication is
// what NCCL's kernels take; it is hidden where another kernel runs at the same time.
// With several GPUs in one trace the figures are sums over them. A trace without a timeline (kernels
// that were run one at a time) has only its kernel time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hardware/units.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

struct Timeline {
    std::int64_t span_ns = 0;    ///< from the first start to the last end
    std::int64_t busy_ns = 0;    ///< at least one of its kernels, copies or fills runs
    std::int64_t kernel_ns = 0;  ///< sum of all their durations
    std::int64_t host_late_ns = 0;
    std::int64_t communication_ns = 0;
    std::int64_t communication_hidden_ns = 0;
    std::int64_t gaps = 0;  ///< intervals without work
    /// Of each kernel: how much of `host_late_ns` is the gap before it.
    std::vector<std::int64_t> late_ns{};

    [[nodiscard]] std::int64_t idle_ns() const { return span_ns - busy_ns; }
};

/// A duration of a trace as a time.
[[nodiscard]] inline Time time_of(std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) * units::ns;
}

[[nodiscard]] Timeline timeline_of(const Trace& trace);

/// A kernel of a collective, by its name.
[[nodiscard]] bool is_communication(std::string_view kernel_name);

}  // namespace ridge::programs
