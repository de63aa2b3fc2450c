// Which operation of the model a kernel is, and how it is carried out.
//
//   const Entry entry = entry_of(counted, recorder, request);   // for programs/graph
//
// Method: products, attention, rows, copies and elementwise kernels are the operations of the same
// names. What ridge has no operation for takes the nearest with the same bytes: a kernel that only
// moves data is a copy of them.
#pragma once

#include "programs/graph/program.h"
#include "programs/software/recorder.h"
#include "programs/software/request.h"

namespace ridge::programs {

[[nodiscard]] Entry entry_of(const Recorder::Counted& counted, const Recorder& recorder,
                             const Request& request);

}  // namespace ridge::programs
