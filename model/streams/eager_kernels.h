// How the memory-bound kernels of an eager framework are written: what a thread keeps in flight,
// and how often a row is read.
//
//   const RowKernel kernel = eager_row_kernel(op, memory);
//   kernel.read_passes   // 3: the eager softmax by blocks reads its row three times
//
// Method: the rules of PyTorch 2.x (which kernel it chooses, its block and vector sizes), equation
// B9 of docs/model.md. The bundled kernels are in bundled_streams.h and bundled_rows.h.
// Limits: contiguous, aligned tensors.
#pragma once

#include "model/core/operation.h"
#include "model/roof/memory_time.h"

namespace ridge::model {

/// A kernel that streams `arrays` tensors (read and written) of elements of `type`.
[[nodiscard]] StreamKernel eager_stream_kernel(const MemoryParameters& memory, DataType type,
                                               double arrays);

/// A kernel along rows.
[[nodiscard]] RowKernel eager_row_kernel(const RowWise& op, const MemoryParameters& memory);

}  // namespace ridge::model
