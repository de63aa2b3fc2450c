// libFuzzer: any bytes, compressed or not, give an execution trace or an InputError. Beside a small profiler's
// trace, whose operators have the numbers 1 to 4, it joins kernels without breaking the report.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "programs/report/trace_report.h"
#include "programs/traces/execution_trace.h"
#include "programs/traces/trace.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/trace_promises.h"

namespace {

using namespace ridge;

/// Four operators over a million elements, one after the other, with a kernel each.
std::string profile() {
    std::string events;
    int record = 0;
    for (const std::string name : {"aten::relu", "aten::add", "aten::mul", "aten::sigmoid_"}) {
        const std::string number = std::to_string(++record);
        const std::string start = std::to_string(100 * record);
        events += (record > 1 ? "," : "") +
                  std::string(R"({"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "dur": 50,
          "name": ")") +
                  name + R"(", "ts": )" + start + R"(, "args": {"External id": )" + number +
                  R"(, "Record function id": )" + number +
                  R"(, "Input Dims": [[1048576], [1048576]], "Input type": ["float", "float"]}},
          {"ph": "X", "pid": 1, "tid": 1, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 5, "ts": )" +
                  start + R"(, "args": {"correlation": )" + number + R"(, "External id": )" +
                  number + R"(}},
          {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "elementwise_kernel", "dur": 20, "ts": )" +
                  start + R"(, "args": {"correlation": )" + number +
                  R"(, "device": 0, "stream": 7, "grid": [1024, 1, 1],
          "block": [128, 1, 1]}})";
    }
    return R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [)" + events +
           "]}";
}

programs::Trace profiled() {
    const std::string text = profile();
    const test::MemoryFile file(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    programs::Trace trace = programs::read_trace(file.path());
    test::promised(trace.kernels.size() == 4 && trace.operators.back().record == 4);
    return trace;
}

}  // namespace

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t longest_input = std::size_t{1} << 16U;
    if (size > longest_input) return 0;
    static programs::Trace trace = profiled();
    static const model::Machine machine = model::catalogue().machine("h200-sxm");
    const test::MemoryFile file(data, size);
    try {
        trace.execution = programs::read_execution_trace(file.path());
    } catch (const InputError&) {
        return 0;
    }
    const programs::TraceReport report = report_of(trace, machine);
    test::promised(std::isfinite(report.predicted.base()));
    for (const programs::Saving& each : report.savings) {
        test::promised(std::isfinite(each.now.base()) && each.saves() >= Time{});
    }
    return 0;
}
