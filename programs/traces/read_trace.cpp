// One entry point for the files of all profilers.
#include <array>
#include <map>

#include "hardware/byte_source.h"
#include "hardware/error.h"
#include "programs/traces/activity_trace.h"
#include "programs/traces/chrome_trace.h"
#include "programs/traces/nsight_compute.h"
#include "programs/traces/nsight_systems.h"
#include "programs/traces/rocprofv3.h"
#include "programs/traces/trace.h"
#include "programs/traces/xplane.h"

namespace ridge::programs {

std::string_view name_of(TraceSource recorder) {
    constexpr std::array<std::string_view, 6> names{"PyTorch profiler", "Nsight Systems",
                                                    "Nsight Compute",   "CUPTI activity",
                                                    "JAX profiler",     "rocprofv3"};
    return names.at(static_cast<std::size_t>(recorder));
}

namespace {

/// The device that most of the kernels ran on, among those that say what is asked for.
template <class Says>
const TraceDevice* main_device(const Trace& trace, const Says& says) {
    std::map<std::int64_t, std::size_t> counts;
    for (const Kernel& kernel : trace.kernels) ++counts[kernel.device];
    std::size_t largest = 0;
    const TraceDevice* main = nullptr;
    for (const TraceDevice& device : trace.header.devices) {
        const auto found = counts.find(device.id);
        const std::size_t count = found == counts.end() ? 0 : found->second;
        if (!says(device) || (main != nullptr && count <= largest)) continue;
        largest = count;
        main = &device;
    }
    return main;
}

}  // namespace

std::string Trace::device_name() const {
    const TraceDevice* const main =
        main_device(*this, [](const TraceDevice& device) { return !device.name.empty(); });
    return main == nullptr ? std::string() : main->name;
}

std::int64_t Trace::capability() const {
    const TraceDevice* const main =
        main_device(*this, [](const TraceDevice& device) { return device.major > 0; });
    return main == nullptr ? 0 : main->major * 10 + main->minor;
}

namespace {

/// The kind follows from the beginning of the file: SQLite from its signature, a table from its
/// header within the first 32 KiB.
enum class FileKind : std::uint8_t { chrome, sqlite, table, xplane, rocprofv3 };

FileKind kind_of(std::string_view start) {
    using namespace std::string_view_literals;
    if (start.starts_with("SQLite format 3\0"sv)) return FileKind::sqlite;
    if (is_xplane(start)) return FileKind::xplane;
    const std::string_view first = start.substr(0, start.find_first_of("\r\n"));
    if (first.find("Kernel_Name") != first.npos && is_rocprofv3_header(first)) {
        return FileKind::rocprofv3;
    }
    for (std::size_t line = 0; line < start.size();) {
        const std::size_t end = start.find('\n', line);
        if (is_nsight_compute_header(start.substr(line, end - line))) return FileKind::table;
        line = end == std::string_view::npos ? start.size() : end + 1;
    }
    return FileKind::chrome;
}

}  // namespace

Trace read_trace(const std::string& file) {
    if (is_activity_file(file)) return read_activity_files({file});
    Trace trace;
    trace.file = file;
    ByteSource source(file);
    switch (kind_of(source.peek())) {
        case FileKind::sqlite:
            read_nsight_systems(file, trace);
            return trace;
        case FileKind::table:
            read_nsight_compute(source, trace);
            if (!trace.kernels.empty()) return trace;
            throw InputError(
                trace.read.damage.empty() ? "contains no kernel with a time" : trace.read.damage,
                {.file = file},
                "ncu --csv --page raw --metrics gpu__time_duration.sum,dram__bytes.sum");
        case FileKind::rocprofv3:
            read_rocprofv3(file, source, trace);
            if (!trace.kernels.empty()) return trace;
            throw InputError(trace.read.damage.empty() ? "contains no kernel" : trace.read.damage,
                             {.file = file},
                             "rocprofv3 --kernel-trace --output-format csv -- PROGRAM");
        case FileKind::xplane:
            read_xplane(source, trace);
            if (!trace.kernels.empty()) return trace;
            throw InputError(trace.read.damage.empty() ? "has no kernels of a plane /device:GPU:0"
                                                       : trace.read.damage,
                             {.file = file}, "with jax.profiler.trace(folder): step()");
        case FileKind::chrome:
            break;
    }
    read_chrome_trace(source, trace);
    if (trace.read.events == 0) {
        throw InputError(trace.read.damage.empty() ? "contains no trace events" : trace.read.damage,
                         {.file = file},
                         "a trace is the JSON of torch.profiler's export_chrome_trace, an Nsight "
                         "Systems report exported to SQLite, or the CSV of ncu --csv --page raw");
    }
    return trace;
}

}  // namespace ridge::programs
