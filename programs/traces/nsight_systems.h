// Reads a report of Nsight Systems that was exported to SQLite:
//
//   nsys profile --trace=cuda,nvtx --cuda-graph-trace=node -o report python step.py
//   nsys export --type sqlite report.nsys-rep
//
// Kernels, copies, fills, launches and NVTX ranges become those of a Trace; each range encloses
// what was launched within it on its thread. Ranges written by PyTorch's
// `emit_nvtx(record_shapes=True)` ("aten::mm, op_id = 7, sizes = [[8, 4], [4, 2]]") become
// operators with shapes; types follow from the kernels' names, and scalar arguments are unknown. A
// graph that was recorded as a whole is one kernel. Columns that older versions lack count as 0.
#pragma once

#include <string>
#include <string_view>

#include "programs/traces/trace.h"

namespace ridge::programs {

void read_nsight_systems(const std::string& file, Trace& trace);

/// The name and the shapes of an operator in a range's text; both empty if the range is not an
/// operator.
struct RangeOperator {
    std::string_view name;
    std::string inputs;  ///< in the form of `Operator::inputs`
};
[[nodiscard]] RangeOperator operator_in(std::string_view range);

}  // namespace ridge::programs
