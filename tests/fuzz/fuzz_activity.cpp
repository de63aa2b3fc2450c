// libFuzzer: any records after the first bytes of an activity file give a trace, damaged or not, or
// an InputError. A timeline can be made of the trace, and a range can be cut out of it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "hardware/error.h"
#include "programs/recording/activity_format.h"
#include "programs/traces/activity_trace.h"
#include "programs/traces/timeline.h"
#include "programs/traces/trace_set.h"
#include "tests/fuzz/memory_file.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge;
    constexpr std::size_t longest_input = std::size_t{1} << 20;
    if (size > longest_input) return 0;
    std::string bytes(programs::activity_magic);
    bytes.append(reinterpret_cast<const char*>(data), size);
    const test::MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    try {
        programs::Trace trace = programs::read_activity_files({file.path(), file.path()});
        static_cast<void>(programs::timeline_of(trace));
        programs::keep_range(trace, "step");
    } catch (const InputError&) {
        return 0;
    }
    return 0;
}
