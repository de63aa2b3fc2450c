// libFuzzer: any bytes, compressed or not, give a profiler's trace, damaged or not, or an
// InputError, in whichever of the five formats they begin. The trace keeps its promises
// (trace_promises.h).
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "hardware/error.h"
#include "programs/traces/trace.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/trace_promises.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge;
    constexpr std::size_t longest_input = std::size_t{1} << 20;
    if (size > longest_input) return 0;
    const test::MemoryFile file(data, size);
    try {
        const programs::Trace trace = programs::read_trace(file.path());
        test::check_promises(trace);
    } catch (const InputError&) {
        return 0;
    }
    return 0;
}
