// How busy the GPU was: kernel time, idle time, and the idle time caused by the host.
//
//   const Timeline timeline = timeline_of(trace);
//   timeline.idle_ns();        // no kernel, copy or fill runs between the first and the last one
//   timeline.host_late_ns;     // the part in which the next launch had not been issued yet
//
// A gap before a kernel is attributed to the host until the call that launched the kernel returned;
// the rest is the time that the GPU itself needs between kernels. Gaps before kernels whose launch
// is not in the trace (those of a replayed graph after the first) are attributed to the GPU.
// Communication is the time of NCCL's kernels; it is hidden while another kernel runs.
// A program's start is left out of everything but the kernel time: loading, building a model, meeting other processes,
// planning the first calls. It lasts until the last gap of 50 ms or more that the host makes before a tenth of
// the GPU's work without communication is done. A recording that begins in the middle of a program has none.
// With several GPUs in one trace the values are sums over them. A trace without a timeline (kernels
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
    std::int64_t busy_ns = 0;    ///< at least one kernel, copy or fill runs
    std::int64_t kernel_ns = 0;  ///< sum of all their durations
    std::int64_t host_late_ns = 0;
    std::int64_t communication_ns = 0;
    std::int64_t communication_hidden_ns = 0;
    std::int64_t gaps = 0;              ///< intervals without work
    std::int64_t starting_ns = 0;       ///< the start, not part of `span_ns`
    std::int64_t starting_kernels = 0;  ///< that ran within it
    /// For each kernel, the part of `host_late_ns` in the gap before it.
    std::vector<std::int64_t> late_ns{};

    [[nodiscard]] std::int64_t idle_ns() const { return span_ns - busy_ns; }
};

/// A duration of a trace as a time.
[[nodiscard]] inline Time time_of(std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) * units::ns;
}

[[nodiscard]] Timeline timeline_of(const Trace& trace);

/// When a GPU's program has started: the start of the first kernel that counts. The least value if it has no
/// start, or the trace no timeline.
[[nodiscard]] std::int64_t started_at(const Trace& trace, std::int64_t device);

/// Whether a kernel belongs to a collective, judged by its name.
[[nodiscard]] bool is_communication(std::string_view kernel_name);

}  // namespace ridge::programs
