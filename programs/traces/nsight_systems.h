// A report of Nsight Systems, exported to SQLite:
//
//   nsys profile --trace=cuda,nvtx --cuda-graph-trace=node -o report python step.py
//   nsys export --type sqlite report.nsys-rep
//
// Kernels, copies, fills, launches and NVTX ranges become those of a Trace; each range encloses what
// was launched within it on its thread. Ranges that PyTorch's `emit_nvtx(record_shapes=True)` writes
// ("aten::mm, op_id = 7, sizes = [[8, 4], [4, 2]]") are operators with shapes; types follow from the
// kernels' names, scalar arguments are not known. A graph that was recorded as a whole is one kernel.
// Columns that older versions lack count as 0.
#pragma once

#include <string>
#include <string_view>

#include "programs/traces/trace.h"

namespace ridge::programs {

void read_nsight_systems(const std::string& file, Trace& trace);

/// The name and the shapes of an operator that a range's text holds; both empty where it is none.
struct RangeOperator {
    std::string_view name;
    std::string inputs;  ///< as `Operator::inputs`
};
[[nodiscard]] RangeOperator operator_in(std::string_view range);

}  // namespace ridge::programs
