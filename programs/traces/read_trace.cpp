// One entry for the files of every profiler.
#include <array>
#include <map>

#include "hardware/error.h"
#include "programs/traces/byte_source.h"
#include "programs/traces/chrome_trace.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

std::string_view name_of(Recorder recorder) {
    constexpr std::array<std::string_view, 4> names{"PyTorch profiler", "Nsight Systems",
                                                    "Nsight Compute", "CUPTI activity"};
    return names.at(static_cast<std::size_t>(recorder));
}

std::string Trace::device_name() const {
    std::map<std::int64_t, std::size_t> counts;
    for (const Kernel& kernel : kernels) ++counts[kernel.device];
    std::size_t largest = 0;
    std::string name;
    for (const TraceDevice& device : header.devices) {
        const auto found = counts.find(device.id);
        const std::size_t count = found == counts.end() ? 0 : found->second;
        if (name.empty() || count > largest) {
            largest = count;
            name = device.name;
        }
    }
    return name;
}

Trace read_trace(const std::string& file) {
    Trace trace;
    trace.file = file;
    ByteSource source(file);
    read_chrome_trace(source, trace);
    if (trace.read.events == 0) {
        throw InputError(trace.read.damage.empty() ? "holds no trace events" : trace.read.damage,
                         {.file = file},
                         "a trace is the JSON that torch.profiler's export_chrome_trace writes");
    }
    return trace;
}

}  // namespace ridge::programs
