// The bundled kernels along rows, and softmax made of five kernels: how a row is divided, what a
// thread does, and the times that follow.
//
//   bundled_row_time(memory, {.kind = RowKind::softmax, .rows = 4096, .cols = 1000,
//                            .type = DataType::bf16}, L2State::warm).total
//
// Method (equations B19 to B21 of docs/model.md). Rows of whole 16-byte vectors stay in registers:
// a warp takes rows up to 2 KiB, a block longer ones. Rows that are too long for that, or not in
// whole vectors, are read twice by their block (model/bundled/rows.h). Slots and clocks per element
// are those of the compiled code, fitted to records of an H200.
// Limits: backward passes have no bundled kernel; they cost what the forward kernel costs for their
// bytes.
#pragma once

#include "model/core/operation.h"
#include "model/roof/block_time.h"

namespace ridge::model {

/// Time of softmax, layernorm, rmsnorm or sum in one kernel.
[[nodiscard]] KernelTime bundled_row_time(const MemoryParameters& memory, const RowWise& op,
                                          L2State l2);

/// Time of softmax in five kernels: maximum, difference, exponential, sum, quotient.
[[nodiscard]] KernelTime manual_softmax_time(const MemoryParameters& memory, const RowWise& op,
                                             L2State l2);

}  // namespace ridge::model
