// The bundled kernels along rows, and softmax made of five kernels: how a row is shared out, what
// a thread does, and from that their times.
//
//   bundled_row_time(memory, {.kind = RowKind::softmax, .rows = 4096, .cols = 1000,
//                            .type = DataType::bf16}, L2State::warm).total
//
// Method (equations B19 to B21 of docs/model.md). Rows of whole 16-byte vectors up to 2 KiB belong
// to a warp, longer ones to a block, and stay in registers; what is longer still, or not in whole
// vectors, is read twice by its block (model/bundled/rows.h). Slots and clocks per element are those
// of the compiled code, fitted to records of an H200.
// Limits: backward passes have no bundled kernel and take the forward kernel's cost on their bytes.
#pragma once

#include "model/core/operation.h"
#include "model/roof/block_time.h"

namespace ridge::model {

/// softmax, layernorm, rmsnorm or sum by one kernel.
[[nodiscard]] KernelTime bundled_row_time(const MemoryParameters& memory, const RowWise& op,
                                          L2State l2);

/// Softmax by five kernels: maximum, difference, exponential, sum, quotient.
[[nodiscard]] KernelTime manual_softmax_time(const MemoryParameters& memory, const RowWise& op,
                                             L2State l2);

}  // namespace ridge::model
