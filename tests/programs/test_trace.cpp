// Reading of profiler traces: what is kept, who launched what, and the effects of damage.
#include "programs/traces/trace.h"

#include <string>

#include "hardware/byte_source.h"
#include "hardware/error.h"
#include "programs/report/attribution.h"
#include "tests/catch.h"
#include "tests/programs/operator_name.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge;
using namespace ridge::programs;
using ridge::test::TemporaryFile;

namespace {

const std::string small = R"json({"deviceProperties": [{"id": 0, "name": "NVIDIA H200",
  "numSms": 132, "totalGlobalMem": 150109880320, "computeMajor": 9, "computeMinor": 0}],
 "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1,
   "ts": 4461877651414.097, "dur": 90.5, "args": {"External id": 1}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 4461877651420.001,
   "dur": 60, "args": {"External id": 2, "Input Dims": [[8, 4], [4, 2], []],
   "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"],
   "Input Strides": [[4, 1], [1, 4], []],
   "Concrete Inputs": ["", "", "a \"quoted\" value"]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
   "ts": 4461877651430, "dur": 5, "args": {"correlation": 7, "External id": 2}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1,
   "ts": 4461877651500, "dur": 3, "args": {"correlation": 8}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 4461877651440.5,
   "dur": 12.345, "args": {"External id": 2, "correlation": 7, "device": 0, "stream": 7,
   "grid": [2, 3, 4], "block": [128, 1, 1], "registers per thread": 168,
   "shared memory": 1024}},
  {"ph": "X", "cat": "kernel", "name": "replayed", "pid": 0, "tid": 7, "ts": 4461877651430.5,
   "dur": 1, "args": {"correlation": 8, "device": 0, "stream": 7}},
  {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7,
   "ts": 4461877651439.5, "dur": 0.7,
   "args": {"External id": 99, "correlation": 700, "bytes": 4}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 4461877651499,
   "dur": 10, "args": {"External id": 3}},
  {"ph": "s", "id": 1, "cat": "ac2g", "name": "ac2g", "ts": 1}]})json";

}  // namespace

TEST_CASE("a trace gives operators, kernels and who launched them", "[trace]") {
    const TemporaryFile file(small);
    const Trace trace = read_trace(file.path());
    CHECK(trace.read.damage.empty());
    CHECK(trace.read.events == 9);
    CHECK(trace.device_name() == "NVIDIA H200");
    REQUIRE(trace.header.devices.size() == 1);
    CHECK(trace.header.devices[0].multiprocessors == 132);

    REQUIRE(trace.operators.size() == 3);
    CHECK(trace.text(trace.operators[0].name) == "aten::linear");
    CHECK(trace.operators[0].parent == none);
    CHECK(trace.operators[1].parent == 0);
    CHECK(trace.operators[2].parent == none);
    CHECK(trace.operators[0].start_ns == 4461877651414097);
    CHECK(trace.operators[0].end_ns == 4461877651504597);
    CHECK(trace.text(trace.operators[1].inputs) ==
          R"(["c10::BFloat16","c10::BFloat16","Scalar"]|[[8,4],[4,2],[]]|[[4,1],[1,4],[]]|)"
          R"(["","","a 'quoted' value"])");

    REQUIRE(trace.kernels.size() == 3);  // by start
    const Kernel& replayed = trace.kernels[0];
    const Kernel& fill = trace.kernels[1];
    const Kernel& gemm = trace.kernels[2];
    CHECK(trace.text(gemm.name) == "gemm");
    CHECK(gemm.op == 1);
    CHECK(gemm.duration_ns == 12345);
    CHECK(gemm.grid == std::array<std::int64_t, 3>{2, 3, 4});
    CHECK(gemm.registers == 168);
    CHECK(gemm.shared_bytes == 1024);
    CHECK(trace.text(trace.launches[static_cast<std::size_t>(gemm.launch)].name) ==
          "cudaLaunchKernel");
    CHECK(replayed.op ==
          2);  // without an id, the operator that was open when its graph was launched
    CHECK(fill.op == none);  // neither its id nor its launch is in the trace
    CHECK(fill.kind == ActivityKind::fill);
    CHECK(fill.bytes == 4);
}

TEST_CASE("ranges around a launch, and the description of a collective", "[trace]") {
    const TemporaryFile file(R"json([
      {"ph":"X","cat":"user_annotation","name":"step","tid":1,"ts":0,"dur":100,"args":{"External id":9}},
      {"ph":"X","cat":"python_function","name":"nn.Module: MLP_0","tid":1,"ts":10,"dur":50},
      {"ph":"X","cat":"python_function","name":"forward","tid":1,"ts":11,"dur":40},
      {"ph":"X","cat":"cpu_op","name":"aten::mm","tid":1,"ts":20,"dur":10,"args":{"External id":1}},
      {"ph":"X","cat":"cpu_op","name":"record_param_comms","tid":1,"ts":70,"dur":10,
       "args":{"External id":2,"Collective name":"allreduce","In msg nelems":1024,
               "Out msg nelems":1024,"Group size":8,"dtype":"BFloat16"}},
      {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","tid":1,"ts":90,"dur":2,
       "args":{"correlation":5}},
      {"ph":"X","cat":"kernel","name":"gemm","ts":30,"dur":10,"args":{"External id":1}},
      {"ph":"X","cat":"kernel","name":"nccl","ts":80,"dur":10,"args":{"External id":2}},
      {"ph":"X","cat":"kernel","name":"raw","ts":95,"dur":10,"args":{"correlation":5}}])json");
    const Trace trace = read_trace(file.path());
    REQUIRE(trace.kernels.size() == 3);
    const auto range = [&trace](std::size_t kernel) {
        return ridge::test::operator_name(trace, trace.kernels[kernel].range);
    };
    CHECK(range(0) == "nn.Module: MLP_0");
    CHECK(range(1) == "step");
    CHECK(range(2) == "step");  // launched outside of any operator
    CHECK(trace.kernels[2].op == none);
    CHECK(trace.text(trace.kernels[1].collective) == "allreduce|1024|1024|BFloat16|8");
    CHECK(trace.kernels[0].collective == TextId::empty);
}

TEST_CASE("a trace of JAX gives kernels of its GPUs and the programs that they belong to",
          "[trace]") {
    const TemporaryFile file(R"json({"displayTimeUnit": "ns", "traceEvents": [
  {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
  {"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
  {"ph": "X", "pid": 1, "tid": 14, "ts": 18491.863, "dur": 3.936, "name": "loop_add_fusion",
   "args": {"correlation_id": "1", "hlo_module": "jit_step", "hlo_op": "command_buffer_1",
   "kernel_details": "regs:26 static_shared:32 dynamic_shared:1024 grid:512,2,1 block:256,1,1 occ_pct:100"}},
  {"ph": "X", "pid": 1, "tid": 14, "ts": 18499, "dur": 1, "name": "MemcpyD2D", "args": {}},
  {"ph": "X", "pid": 701, "tid": 3, "ts": 1, "dur": 2, "name": "python"}]})json");
    const Trace trace = read_trace(file.path());
    CHECK(trace.recorder == TraceSource::xla);
    REQUIRE(trace.kernels.size() == 2);
    const Kernel& kernel = trace.kernels.front();
    CHECK(trace.text(kernel.name) == "loop_add_fusion");
    CHECK(trace.text(trace.operators[static_cast<std::size_t>(kernel.op)].name) ==
          "jit_step/loop_add_fusion");
    CHECK(kernel.duration_ns == 3936);
    CHECK(kernel.grid == std::array<std::int64_t, 3>{512, 2, 1});
    CHECK(kernel.registers == 26);
    CHECK(kernel.shared_bytes == 1056);
    CHECK(trace.kernels.back().kind == ActivityKind::copy);
}

TEST_CASE("a bare array of events is a trace too", "[trace]") {
    const TemporaryFile file(R"([{"ph":"X","cat":"kernel","name":"k","ts":1e3,"dur":"x"}])");
    const Trace trace = read_trace(file.path());
    REQUIRE(trace.kernels.size() == 1);
    CHECK(trace.kernels[0].start_ns == 1000000);
    CHECK(trace.kernels[0].duration_ns == 0);
    CHECK(trace.device_name().empty());
}

TEST_CASE("a file that is cut anywhere gives the events before the cut and says where it broke",
          "[trace]") {
    for (std::size_t length = 1; length < small.size(); length += 7) {
        const TemporaryFile file(small.substr(0, length));
        try {
            const Trace trace = read_trace(file.path());
            CHECK(trace.read.events <= 9);
            CHECK(trace.read.damage.find("at byte") != std::string::npos);
        } catch (const InputError& error) {
            CHECK(error.location().file == file.path());  // there is no complete event
            CHECK(length < 400);
        }
    }
}

TEST_CASE("damaged gzip and deep nesting are reported, and what is not a trace is refused",
          "[trace]") {
    const std::string packed = ridge::test::text_of(RIDGE_TRACES "/trace_gpt2_train.json.gz");
    REQUIRE(packed.size() > 10000);
    const TemporaryFile cut(packed.substr(0, packed.size() / 2), ".json.gz");
    const Trace half = read_trace(cut.path());
    CHECK(half.read.damage.find("gzip stream ends too early") != std::string::npos);
    CHECK(half.read.events > 100);

    std::string flipped = packed;
    flipped[packed.size() / 2] = static_cast<char>(~flipped[packed.size() / 2]);
    const TemporaryFile broken(flipped, ".json.gz");
    CHECK_FALSE(read_trace(broken.path()).read.damage.empty());

    const TemporaryFile deep(R"({"traceEvents":[{"name":"a"},{"args":)" + std::string(100000, '['));
    CHECK(read_trace(deep.path()).read.damage.find("nested too deeply") != std::string::npos);
    const TemporaryFile hollow("{}");
    CHECK_THROWS_AS(read_trace(hollow.path()), InputError);
    CHECK_THROWS_AS(read_trace("/nowhere/trace.json"), InputError);
    CHECK_THROWS_AS(read_trace("/"), InputError);
    CHECK_THROWS_AS(read_trace("/dev/zero"), InputError);
}

TEST_CASE("every kernel in PyTorch's own traces finds its operator", "[trace]") {
    struct Expected {
        const char* file;
        std::size_t operators;
        std::size_t kernels;
        double microseconds;
    };
    // Counted in the files with Python's json module.
    for (const Expected& expected : {Expected{"trace_llama_prefill", 399, 114, 1459.152},
                                     Expected{"trace_gpt2_train", 877, 189, 6771.859},
                                     Expected{"trace_llama_compiled", 54, 42, 1130.955}}) {
        const Trace trace = read_trace(std::string(RIDGE_TRACES "/") + expected.file + ".json.gz");
        CHECK(trace.read.damage.empty());
        CHECK(trace.device_name() == "NVIDIA H200");
        CHECK(trace.operators.size() == expected.operators);
        CHECK(trace.kernels.size() == expected.kernels);
        std::int64_t total = 0;
        for (const Kernel& kernel : trace.kernels) {
            total += kernel.duration_ns;
            CHECK(kernel.op != none);
        }
        CHECK(static_cast<double>(total) / 1000.0 == Approx(expected.microseconds));
    }
}

TEST_CASE("kernels of a replayed graph find their operators by the capture", "[trace]") {
    const auto event = [](const char* category, const char* name, int ts, int dur, int id,
                          int correlation) {
        return R"({"ph":"X","cat":")" + std::string(category) + R"(","name":")" + name +
               R"(","tid":1,"ts":)" + std::to_string(ts) + R"(,"dur":)" + std::to_string(dur) +
               R"(,"args":{"External id":)" + std::to_string(id) + R"(,"correlation":)" +
               std::to_string(correlation) + R"(,"stream":7}})";
    };
    const auto replayed = [](const char* name, int ts, int correlation) {
        return R"({"ph":"X","cat":"kernel","name":")" + std::string(name) + R"(","tid":7,"ts":)" +
               std::to_string(ts) + R"(,"dur":1,"args":{"correlation":)" +
               std::to_string(correlation) + R"(,"stream":7}})";
    };
    std::string text = "[" + event("cuda_runtime", "cudaStreamBeginCapture", 0, 1, -1, 1);
    for (const std::string& each :
         {event("cpu_op", "aten::mm", 10, 5, 1, -1),
          event("cuda_runtime", "cudaLaunchKernel", 11, 1, 1, 2),
          event("cpu_op", "aten::relu", 20, 5, 2, -1),
          event("cuda_runtime", "cudaLaunchKernel", 21, 1, 2, 3),
          event("cuda_runtime", "cudaStreamEndCapture", 30, 1, -1, 4),
          event("cuda_runtime", "cudaGraphLaunch", 40, 1, -1, 5), replayed("relu", 52, 5),
          replayed("gemm", 50, 5), event("cuda_runtime", "cudaGraphLaunch", 60, 1, -1, 6),
          replayed("gemm", 70, 6), replayed("relu", 72, 6),
          event("cuda_runtime", "cudaGraphLaunch", 80, 1, -1, 7), replayed("other", 90, 7)}) {
        text += "," + each;
    }
    const TemporaryFile file(text + "]");
    const Trace trace = read_trace(file.path());
    REQUIRE(trace.kernels.size() == 5);
    const auto op = [&trace](std::size_t kernel) {
        return ridge::test::operator_name(trace, trace.kernels[kernel].op);
    };
    CHECK(op(0) == "aten::mm");
    CHECK(op(1) == "aten::relu");
    CHECK(op(2) == "aten::mm");
    CHECK(op(3) == "aten::relu");
    CHECK(trace.kernels[0].replay != trace.kernels[2].replay);
    CHECK(trace.kernels[4].op ==
          none);  // a graph of another length: its capture is not in the file
    CHECK(trace.kernels[4].replay == none);
    const std::vector<Instance> instances = instances_of(trace);
    CHECK(instances.size() == 5);  // each replay runs the operators again
}
