// libFuzzer: any records after the first bytes of an activity file give a trace, damaged or not, or
// an InputError. The trace keeps its promises (trace_promises.h), also after a range was cut out.
#include <cstddef>
#include <cstdint>
#include <string>

#include "hardware/error.h"
#include "programs/recording/activity_format.h"
#include "programs/traces/activity_trace.h"
#include "programs/traces/trace_set.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/trace_promises.h"

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
        test::check_promises(trace);
        programs::keep_range(trace, "step");
        test::check_promises(trace);
    } catch (const InputError&) {
        return 0;
    }
    return 0;
}
