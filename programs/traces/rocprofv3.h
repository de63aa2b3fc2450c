// Reads what ROCm's rocprofv3 wrote as CSV: kernels, and from the files beside them copies, calls of HIP, ranges of roctx and
// the GPUs' names.
//
//   rocprofv3 --kernel-trace --memory-copy-trace --hip-trace --marker-trace --output-format csv -- PROGRAM
//   ridge trace 4711_kernel_trace.csv     # reads 4711_memory_copy_trace.csv, 4711_hip_api_trace.csv, ... if they are there
//
// Columns are found by their names, which differ between versions: LDS_Block_Size and Group_Segment_Size, with or without
// registers, streams, threads and a Guid. An agent is a number, "Agent 2" (both its logical number) or "GPU 0" (among GPUs);
// a grid is counted in work-items. A kernel belongs to the HIP call with its correlation.
//
// Limits: no shapes, and copies without bytes: rocprofv3 records neither. Its JSON, Perfetto and database files are not read.
#pragma once

#include <string>
#include <string_view>

namespace ridge {
class ByteSource;
}

namespace ridge::programs {

struct Trace;

/// Whether a line is the header of a table of kernels.
[[nodiscard]] bool is_rocprofv3_header(std::string_view line);

void read_rocprofv3(const std::string& file, ByteSource& source, Trace& trace);

}  // namespace ridge::programs
