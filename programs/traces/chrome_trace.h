// Reads a trace of the PyTorch profiler: Chrome JSON, plain or compressed by gzip.
//
// Operators are the events `cpu_op`; annotations and modules become ranges; kernels, copies and
// fills have the operator's id and the correlation of the call that launched them.
#pragma once

#include "programs/traces/trace.h"

namespace ridge {
class ByteSource;
}

namespace ridge::programs {

void read_chrome_trace(ByteSource& source, Trace& trace);

}  // namespace ridge::programs
