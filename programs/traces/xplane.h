// Reads a file of JAX's profiler (`*.xplane.pb`, an XSpace of xplane.proto in Protocol Buffers).
//
//   read_xplane(source, trace);   // trace.recorder == TraceSource::xla
//
// Method: planes named "/device:GPU:N" are GPUs, their lines streams, their events kernels, copies and fills. Events
// of "/host:CPU" with a correlation are launches. Names of events and of statistics stand once in a plane, after its
// lines, so a plane is walked twice. A statistic is a text, or the number of a statistic whose name is the text.
//
// A damaged plane ends the reading: `trace.read.damage` names the field ("planes[2].lines[0].events[17]"). Of a plane
// that is cut off nothing is known but its place, for its names come last.
//
// The compiled programs, in "/host:metadata", give kernels their shapes (hlo.h). A damaged program takes away its own
// shapes only.
//
// Limits: the whole file is held in memory. Other planes (counters) are not read.
#pragma once

#include <string_view>

namespace ridge {
class ByteSource;
}

namespace ridge::programs {

struct Trace;

/// Whether a file that begins so is an XSpace: a plane with a number or a name.
[[nodiscard]] bool is_xplane(std::string_view start);

void read_xplane(ByteSource& source, Trace& trace);

}  // namespace ridge::programs
