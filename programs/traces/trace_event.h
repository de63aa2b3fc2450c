// The events of a Chrome trace (the JSON that the PyTorch profiler writes), one after another.
//
//   for_each_event(source, [&](const TraceEvent& event) { ... });
//
// Both forms are read: an object with `traceEvents`, or the bare array. The parser streams: memory
// does not grow with the file. Only the fields below are kept; everything else is skipped.
// Times are nanoseconds. Nesting is limited, and the texts of an event are cut at `longest_text`
// (trace.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "programs/traces/trace.h"

namespace ridge {
class ByteSource;
}

namespace ridge::programs {

struct TraceEvent {
    std::string phase;     ///< "X" a span, "i" an instant, "M" metadata, "s", "f" flows
    std::string category;  ///< "cpu_op", "kernel", "cuda_runtime", ...
    std::string name;
    std::int64_t process = -1;  ///< -1 if it is not a number
    std::int64_t thread = -1;
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;

    // args
    std::int64_t external_id = -1;
    std::int64_t correlation = -1;
    std::int64_t sequence = -1;  ///< autograd's number, shared by an operator and its backward
    std::int64_t record = -1;    ///< the operator's number in an execution trace
    std::int64_t device = -1;
    std::int64_t stream = -1;
    std::int64_t bytes = -1;
    std::int64_t registers = -1;
    std::int64_t shared_bytes = -1;
    std::int64_t graph_node = -1;
    std::array<std::int64_t, 3> grid{};
    std::array<std::int64_t, 3> block{};
    std::string input_types;  ///< JSON arrays as in the file, without blanks
    std::string input_dims;
    std::string input_strides;
    std::string concrete_inputs;
    std::string collective;  ///< its kind: "allreduce"
    std::string collective_type;
    std::string label;    ///< of a metadata event: the name that it gives a process or thread
    std::string module;   ///< of XLA: the compiled program that a kernel belongs to
    std::string details;  ///< of XLA: "regs:26 ... grid:512,1,1 block:256,1,1"
    std::string copied;   ///< of XLA: "kind_src:pageable kind_dst:device size:4096 ..."
    std::int64_t elements_in = -1;
    std::int64_t elements_out = -1;
    std::int64_t group_size = -1;

    void clear();
};

/// Calls `visit` for each event; fills `header` from what comes before and after the events.
ReadResult for_each_event(ByteSource& source, TraceHeader& header,
                          const std::function<void(const TraceEvent&)>& visit);

}  // namespace ridge::programs
