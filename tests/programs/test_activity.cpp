// Activity files of `ridge profile`, written here as the library in a program writes them, and read
// back.
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include "hardware/error.h"
#include "hardware/units.h"
#include "model/catalogue/catalogue.h"
#include "programs/recording/activity_writer.h"
#include "programs/report/trace_report.h"
#include "programs/traces/activity_trace.h"
#include "programs/traces/timeline.h"
#include "programs/traces/trace_set.h"
#include "tests/catch.h"
#include "tests/programs/activity_file.h"
#include "tests/programs/operator_name.h"
#include "tests/support/temporary_folder.h"

using namespace ridge;
using namespace ridge::programs;
using namespace ridge::test;

TEST_CASE("An activity file becomes a trace of kernels, copies, launches, ranges and the GPU") {
    const TemporaryFolder folder;
    const std::string file = folder.file("a.ridge");
    write_process(file, {});
    CHECK(is_activity_file(file));
    CHECK(run_of(file) == 7);
    const Trace trace = read_trace(file);
    CHECK(trace.recorder == TraceSource::activity);
    CHECK(trace.read.damage.empty());
    CHECK(trace.notes.empty());
    CHECK(trace.device_name() == "NVIDIA H200");
    REQUIRE(trace.kernels.size() == 3);
    const Kernel& first = trace.kernels[0];
    CHECK(trace.text(first.name) == "void add<4>(float*)");
    CHECK(first.duration_ns == 50);
    CHECK(first.grid == std::array<std::int64_t, 3>{132, 2, 1});
    CHECK(first.block == std::array<std::int64_t, 3>{256, 1, 1});
    CHECK(first.registers == 32);
    CHECK(first.shared_bytes == 1024);
    CHECK(first.stream == 7);
    CHECK(operator_name(trace, first.range) == "step");
    CHECK(operator_name(trace, trace.kernels[1].range) == "-");
    REQUIRE(first.launch != none);
    CHECK(trace.launches[static_cast<std::size_t>(first.launch)].end_ns ==
          static_cast<std::int64_t>(second) + 15);
    CHECK(trace.kernels[2].kind == ActivityKind::copy);
    CHECK(trace.kernels[2].bytes == 4096);
    CHECK(timeline_of(trace).kernel_ns == 150);
}

TEST_CASE("The ranks of a run form one trace, with GPUs identified by UUID") {
    const TemporaryFolder folder;
    write_process(folder.file("a"), {.pid = 10, .rank = 0, .uuid = 1});
    write_process(folder.file("b"), {.pid = 11, .rank = 1, .uuid = 2, .begin = second + 20});
    write_process(folder.file("c"), {.pid = 12, .rank = 2, .uuid = 2});
    write_process(folder.file("other"), {.run = 8});
    const auto runs =
        runs_of({folder.file("a"), folder.file("other"), folder.file("b"), folder.file("c")});
    REQUIRE(runs.size() == 2);
    CHECK(runs[0] ==
          std::vector<std::string>{folder.file("a"), folder.file("b"), folder.file("c")});
    CHECK(runs[1] == std::vector<std::string>{folder.file("other")});
    const Trace trace = read_run(runs[0]);
    CHECK(trace.kernels.size() == 9);
    CHECK(trace.header.devices.size() == 2);
    std::array<int, 2> kernels{};
    for (const Kernel& kernel : trace.kernels) {
        REQUIRE(kernel.device < 2);
        ++kernels[static_cast<std::size_t>(kernel.device)];
        // A launch of another process has the same correlation and thread.
        if (kernel.launch == none) continue;
        const auto& launch = trace.launches[static_cast<std::size_t>(kernel.launch)];
        CHECK(kernel.start_ns - launch.start_ns == 90);
    }
    CHECK(kernels == std::array{3, 6});
}

TEST_CASE("Counters of a second run go to every launch of the same kernel, grid and block") {
    const TemporaryFolder folder;
    write_process(folder.file("times"), {});
    {
        ActivityWriter writer;
        REQUIRE(writer.open(folder.file("counters")));
        writer.write(ProcessActivity{
            .mode = static_cast<std::uint32_t>(RecordingMode::counters), .pid = 20, .run = 7});
        const std::uint32_t name = writer.text("void add<4>(float*)");
        // At a launch, registers and shared memory are not known.
        const ShapeActivity same{.name = name,
                                 .grid_x = 132,
                                 .grid_y = 2,
                                 .grid_z = 1,
                                 .block_x = 256,
                                 .block_y = 1,
                                 .block_z = 1};
        ShapeActivity other = same;
        other.grid_x = 1;
        const std::uint32_t shape = writer.shape(same);
        const std::uint32_t unused = writer.shape(other);
        for (const double read : {1000.0, 3000.0}) {
            writer.write(CounterActivity{.shape = shape,
                                         .passes = 4,
                                         .dram_read_bytes = read,
                                         .dram_write_bytes = 500.0,
                                         .vector_flop = 64.0});
        }
        writer.write(CounterActivity{.shape = unused,
                                     .dram_read_bytes = std::numeric_limits<double>::quiet_NaN(),
                                     .dram_write_bytes = std::numeric_limits<double>::infinity()});
        writer.write(PushActivity{.time_ns = second, .name = name, .thread = 3});
        writer.write(NoteActivity{.text = "no counters: of the rest"});
        writer.write(FinishActivity{});
    }
    const Trace trace = read_run({folder.file("times"), folder.file("counters")});
    REQUIRE(trace.kernels.size() == 3);
    REQUIRE(trace.kernels[0].counters != none);
    CHECK(trace.kernels[0].counters == trace.kernels[1].counters);
    CHECK(trace.kernels[2].counters == none);
    const KernelCounters& counted =
        trace.counters[static_cast<std::size_t>(trace.kernels[0].counters)];
    CHECK(counted.launches == 2);
    CHECK(counted.passes == 4);
    CHECK(counted.dram_read_bytes == 2000.0);
    CHECK(counted.dram_bytes() == 2500.0);
    CHECK(counted.vector_flop == 64.0);
    CHECK(counted.tensor_flop < 0.0);
    CHECK(counted.flop() < 0.0);
    CHECK(trace.kernels[1].dram_bytes == 2500);
    for (const KernelCounters& each : trace.counters) CHECK(std::isfinite(each.dram_bytes()));
    // Ranges come from the timed run, not from the run that counts.
    CHECK(trace.operators.size() == 1);
    REQUIRE(trace.notes.size() == 1);
    CHECK(trace.notes[0] == "process 20: no counters: of the rest");
}

TEST_CASE("A trace can be cut down to a named range") {
    const TemporaryFolder folder;
    write_process(folder.file("a"), {});
    Trace trace = read_trace(folder.file("a"));
    CHECK_THROWS_WITH(keep_range(trace, "stp"), contains_text("'step'"));
    trace = read_trace(folder.file("a"));
    keep_range(trace, "step");
    REQUIRE(trace.kernels.size() == 1);
    CHECK(trace.kernels[0].duration_ns == 50);
}

TEST_CASE("A range includes what other threads of its process launch meanwhile") {
    const TemporaryFolder folder;
    for (const std::uint32_t pid : {10U, 20U}) {
        ActivityWriter writer;
        REQUIRE(writer.open(folder.file(std::to_string(pid))));
        writer.write(ProcessActivity{.pid = pid, .run = 7});
        const std::uint32_t shape = writer.shape({.name = writer.text("backward")});
        const std::uint32_t call = writer.text("cudaLaunchKernel");
        const std::uint32_t name = writer.text(pid == 10 ? "step" : "other");
        for (const std::uint64_t start : {100U, 1000U, 2000U}) {
            writer.write(PushActivity{.time_ns = start, .name = name, .thread = 1});
            writer.write(PopActivity{.time_ns = start + 500, .thread = 1});
        }
        std::uint32_t correlation = 0;
        for (const std::uint64_t start : {50U, 100U, 599U, 600U, 1200U, 2499U, 2500U}) {
            writer.write(CallActivity{
                .start_ns = start, .name = call, .correlation = ++correlation, .thread = 2});
            writer.write(KernelActivity{
                .start_ns = start, .duration_ns = 1, .shape = shape, .correlation = correlation});
        }
    }
    Trace trace = read_run({folder.file("10"), folder.file("20")});
    keep_range(trace, "step");
    std::vector<std::int64_t> starts;
    for (const Kernel& kernel : trace.kernels) starts.push_back(kernel.start_ns);
    CHECK(starts == std::vector<std::int64_t>{100, 599, 1200, 2499});
}

TEST_CASE("A killed process leaves its open ranges and what it has written") {
    const TemporaryFolder folder;
    const std::string file = folder.file("a");
    {
        ActivityWriter writer;
        REQUIRE(writer.open(file));
        writer.write(ProcessActivity{.pid = 33});
        writer.write(PushActivity{.time_ns = second, .name = writer.text("train"), .thread = 3});
        writer.write(
            StartActivity{.time_ns = second, .id = 4, .name = writer.text("epoch"), .thread = 5});
        writer.write(CallActivity{.start_ns = second + 5, .correlation = 1, .thread = 3});
        const std::uint32_t shape = writer.shape({.name = writer.text("k")});
        writer.write(KernelActivity{
            .start_ns = second + 10, .duration_ns = 5, .shape = shape, .correlation = 1});
        writer.write(LostActivity{.records = 12});
    }
    const Trace trace = read_trace(file);
    CHECK(trace.operators.size() == 2);
    REQUIRE(trace.kernels.size() == 1);
    CHECK(operator_name(trace, trace.kernels[0].range) == "train");
    REQUIRE(trace.notes.size() == 2);
    CHECK(trace.notes[0].find("lost 12 records") != std::string::npos);
    CHECK(trace.notes[1].find("process 33: did not end normally") != std::string::npos);
}

TEST_CASE("Ranges of PyTorch's emit_nvtx are operators with their shapes") {
    const TemporaryFolder folder;
    const std::string file = folder.file("a");
    {
        ActivityWriter writer;
        REQUIRE(writer.open(file));
        writer.write(ProcessActivity{});
        writer.write(PushActivity{.time_ns = second, .name = writer.text("step"), .thread = 3});
        writer.write(
            PushActivity{.time_ns = second + 1,
                         .name = writer.text("aten::mm, op_id = 12, sizes = [[64, 32], [32, 16]]"),
                         .thread = 3});
        writer.write(CallActivity{.start_ns = second + 5, .correlation = 1, .thread = 3});
        writer.write(PopActivity{.time_ns = second + 9, .thread = 3});
        const std::uint32_t shape = writer.shape({.name = writer.text("k")});
        writer.write(KernelActivity{
            .start_ns = second + 10, .duration_ns = 5, .shape = shape, .correlation = 1});
        writer.write(FinishActivity{});
    }
    const Trace trace = read_trace(file);
    REQUIRE(trace.kernels.size() == 1);
    REQUIRE(trace.kernels[0].op != none);
    const Operator& op = trace.operators[static_cast<std::size_t>(trace.kernels[0].op)];
    CHECK(trace.text(op.name) == "aten::mm");
    CHECK(trace.text(op.inputs).find("[[64, 32], [32, 16]]") != std::string::npos);
    CHECK(operator_name(trace, trace.kernels[0].range) == "step");
}

TEST_CASE("A kernel known only by counters takes the longer time of its bytes and its arithmetic") {
    const TemporaryFolder folder;
    const auto report_with = [&folder](double bytes, double vector_flop, double tensor_flop) {
        write_process(folder.file("times"), {});
        {
            ActivityWriter writer;
            REQUIRE(writer.open(folder.file("counters")));
            writer.write(ProcessActivity{
                .mode = static_cast<std::uint32_t>(RecordingMode::counters), .run = 7});
            const std::uint32_t shape = writer.shape({.name = writer.text("void add<4>(float*)"),
                                                      .grid_x = 132,
                                                      .grid_y = 2,
                                                      .grid_z = 1,
                                                      .block_x = 256,
                                                      .block_y = 1,
                                                      .block_z = 1});
            writer.write(CounterActivity{.shape = shape,
                                         .dram_read_bytes = bytes / 2.0,
                                         .dram_write_bytes = bytes / 2.0,
                                         .tensor_flop = tensor_flop,
                                         .vector_flop = vector_flop});
            writer.write(FinishActivity{});
        }
        const TraceReport report =
            report_of(read_run({folder.file("times"), folder.file("counters")}),
                      model::make_machine(model::catalogue().at("h200-sxm")));
        std::filesystem::remove(folder.file("times"));
        std::filesystem::remove(folder.file("counters"));
        for (const OperatorRow& row : report.operators) {
            if (row.counters) return row;
        }
        FAIL("no operator has counters");
        return OperatorRow{};
    };
    const OperatorRow streaming = report_with(1e9, 1e6, 0.0);
    REQUIRE(streaming.predicted);
    CHECK(streaming.basis == Basis::counters);
    CHECK(streaming.kernels == 2);
    CHECK(streaming.bound == "memory");
    // 2 launches of 1 GB, at 4.8 TB/s at best.
    CHECK(streaming.predicted->in(units::us) > 2 * 208.0);
    CHECK(streaming.predicted->in(units::us) < 2 * 300.0);
    const OperatorRow vector = report_with(1e6, 67e9, 1.0);
    REQUIRE(vector.predicted);
    CHECK(vector.bound == "compute");
    CHECK(vector.limiter == "fma");
    // 67 GFLOP at 67 TFLOP/s, twice.
    CHECK(vector.predicted->in(units::us) == Approx(2000.0).epsilon(0.01));
    const OperatorRow tensor = report_with(1e6, 0.0, 989e9);
    REQUIRE(tensor.predicted);
    CHECK(tensor.limiter == "tensor");
    CHECK(tensor.predicted->in(units::us) == Approx(2000.0).epsilon(0.01));
    // Arithmetic that was not counted changes nothing.
    const OperatorRow unknown = report_with(1e9, -1.0, -1.0);
    CHECK(*unknown.predicted == *streaming.predicted);
}
