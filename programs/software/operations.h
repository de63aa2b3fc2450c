// Maps a kernel to an operation of the model and its implementation.
//
//   const Entry entry = entry_of(counted, recorder, request);   // for programs/graph
//
// Method: products, attention, rows, copies and elementwise kernels map to the operations of the
// same names. A kernel without a matching operation maps to the nearest one with the same bytes: a
// kernel that only moves data becomes a copy.
#pragma once

#include "programs/graph/program.h"
#include "programs/software/recorder.h"
#include "programs/software/request.h"

namespace ridge::programs {

[[nodiscard]] Entry entry_of(const Recorder::Counted& counted, const Recorder& recorder,
                             const Request& request);

}  // namespace ridge::programs
