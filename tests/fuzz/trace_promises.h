// What trace.h and timeline.h promise of every trace, whatever bytes it was read from.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "programs/traces/timeline.h"
#include "programs/traces/trace.h"

namespace ridge::test {

inline void promised(bool holds) {
    if (!holds) std::abort();
}

inline bool names(std::int32_t index, std::size_t size) {
    return index == programs::none || (index >= 0 && static_cast<std::size_t>(index) < size);
}

/// Operators are in order of thread and start, parents before their children; kernels are in order
/// of start; every index names something.
inline void check_order(const programs::Trace& trace) {
    const programs::Operator* before = nullptr;
    for (const programs::Operator& op : trace.operators) {
        promised(op.start_ns <= op.end_ns);
        if (before != nullptr) {
            promised(std::tie(before->thread, before->start_ns) <=
                     std::tie(op.thread, op.start_ns));
        }
        before = &op;
        if (op.parent == programs::none) continue;
        promised(op.parent >= 0 && op.parent < &op - trace.operators.data());
        const auto& parent = trace.operators[static_cast<std::size_t>(op.parent)];
        promised(parent.thread == op.thread && parent.start_ns <= op.start_ns);
    }
    std::int64_t last = 0;
    for (const programs::Kernel& kernel : trace.kernels) {
        promised(&kernel == trace.kernels.data() || last <= kernel.start_ns);
        last = kernel.start_ns;
        promised(kernel.duration_ns >= 0);
        promised(names(kernel.op, trace.operators.size()));
        promised(names(kernel.range, trace.operators.size()));
        promised(names(kernel.launch, trace.launches.size()));
        promised(names(kernel.counters, trace.counters.size()));
    }
}

/// No part of the timeline is longer than what it is a part of.
inline void check_timeline(const programs::Trace& trace) {
    const programs::Timeline line = programs::timeline_of(trace);
    promised(line.busy_ns >= 0 && line.busy_ns <= line.span_ns && line.busy_ns <= line.kernel_ns);
    promised(line.host_late_ns >= 0 && line.host_late_ns <= line.idle_ns());
    promised(line.communication_hidden_ns >= 0 &&
             line.communication_hidden_ns <= line.communication_ns);
    promised(line.communication_ns <= line.kernel_ns);
    promised(line.late_ns.size() == trace.kernels.size());
    const auto late = std::accumulate(line.late_ns.begin(), line.late_ns.end(), std::int64_t{0});
    promised(late == line.host_late_ns);
}

inline void check_promises(const programs::Trace& trace) {
    check_order(trace);
    check_timeline(trace);
}

}  // namespace ridge::test
