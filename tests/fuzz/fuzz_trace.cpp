// libFuzzer: any bytes, compressed or not, give a profiler's trace, damaged or not, or an
// InputError, in whichever of the three formats they begin. A timeline can be made of the trace.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "hardware/error.h"
#include "programs/traces/timeline.h"
#include "programs/traces/trace.h"
#include "tests/fuzz/memory_file.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge;
    constexpr std::size_t longest_input = std::size_t{1} << 20;
    if (size > longest_input) return 0;
    const test::MemoryFile file(data, size);
    try {
        const programs::Trace trace = programs::read_trace(file.path());
        static_cast<void>(programs::timeline_of(trace));
    } catch (const InputError&) {
        return 0;
    }
    return 0;
}
