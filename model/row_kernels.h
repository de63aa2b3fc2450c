// How memory-bound kernels are written, by implementation: what a thread keeps in flight, how often
// a row is read.
//
//   const RowKernel kernel = row_kernel(op, Implementation::eager, memory);
//   kernel.read_passes   // 3: the eager softmax by blocks reads its row three times
//
// Method: `eager` follows the rules of PyTorch 2.x (which kernel it takes, its block and vector
// sizes); `fused` and `library` are a well-made kernel that keeps a row on chip where it fits and
// loads 16 bytes per thread and array. Equations B9 and B10 of docs/model.md.
// Limits: contiguous, aligned tensors. The costs of the well-made kernels are estimates.
#pragma once

#include "model/memory_model.h"
#include "model/operation.h"

namespace ridge::model {

/// A kernel that streams `arrays` tensors (read and written) of elements of `type`.
[[nodiscard]] StreamKernel stream_kernel(const MemoryParameters& memory, DataType type,
                                         double arrays, Implementation implementation);

/// A kernel along rows; `implementation` is eager, fused or library.
[[nodiscard]] RowKernel row_kernel(const RowWise& op, Implementation implementation,
                                   const MemoryParameters& memory);

}  // namespace ridge::model
