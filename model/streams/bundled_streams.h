// The bundled kernels without rows: elementwise expressions, copy, transpose, gather.
//
//   bundled_elementwise_time(memory, op, Implementation::unfused, L2State::warm).total
//
// Method (equations B22 to B25 of docs/model.md). Elementwise kernels load two vectors per operand
// and thread. An unfused expression is a chain of kernels, each of which finds what the L2 still
// holds of its arguments. A gather waits for its index, then for its row. A transpose goes through
// tiles; without tiles each element is a separate sector.
// Limits: instruction costs are those of the bundled code. They transfer to other GPUs as far as
// the pipes are similar.
#pragma once

#include "model/core/operation.h"
#include "model/roof/block_time.h"

namespace ridge::model {

/// Lanes of a multiprocessor that compute in this type.
[[nodiscard]] inline double lanes_of(const MemoryParameters& memory, DataType type) {
    return type == DataType::fp64 && memory.fp64_lanes > 0.0 ? memory.fp64_lanes
                                                             : memory.fp32_lanes;
}

/// Time of `fused` or `unfused`, forward or backward.
[[nodiscard]] KernelTime bundled_elementwise_time(const MemoryParameters& memory,
                                                  const Elementwise& op,
                                                  Implementation implementation, L2State l2);

[[nodiscard]] KernelTime bundled_copy_time(const MemoryParameters& memory, const Copy& op,
                                           L2State l2);

/// Time of `naive`, or of the transpose through tiles in shared memory.
[[nodiscard]] KernelTime bundled_transpose_time(const MemoryParameters& memory, const Transpose& op,
                                                Implementation implementation, L2State l2);

/// Time to gather rows that are drawn at random from the table, with replacement.
[[nodiscard]] KernelTime bundled_gather_time(const MemoryParameters& memory, const Gather& op,
                                             std::int64_t sector_bytes, L2State l2);

}  // namespace ridge::model
