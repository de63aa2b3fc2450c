// Activity files of `ridge profile`: written here as the library in a program writes them, and read back.
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "hardware/error.h"
#include "hardware/units.h"
#include "model/machine/catalogue.h"
#include "programs/recording/activity_writer.h"
#include "programs/recording/recording_options.h"
#include "programs/report/trace_report.h"
#include "programs/traces/activity_trace.h"
#include "programs/traces/timeline.h"
#include "programs/traces/trace_set.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::programs;

namespace {

namespace fs = std::filesystem;

/// A folder of one test's files.
class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "ridge-activity-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string file(const std::string& name) const {
        return (path_ / name).string();
    }

  private:
    fs::path path_;
};

constexpr std::uint64_t second = 1'000'000'000;

/// What a process writes that launches one kernel twice, once in a range, and copies the result back.
struct Process {
    std::uint32_t pid = 10;
    std::int32_t rank = -1;
    std::uint64_t run = 7;
    std::uint64_t uuid = 1;
    std::uint64_t begin = second;
    bool finishes = true;
};

void write_process(const std::string& file, const Process& process) {
    ActivityWriter writer;
    REQUIRE(writer.open(file));
    const std::uint64_t t = process.begin;
    writer.write(ProcessActivity{.pid = process.pid, .rank = process.rank, .run = process.run});
    const std::uint32_t shape = writer.shape({.name = writer.text("void add<4>(float*)"),
                                              .grid_x = 132,
                                              .grid_y = 2,
                                              .grid_z = 1,
                                              .block_x = 256,
                                              .block_y = 1,
                                              .block_z = 1,
                                              .registers = 32,
                                              .shared_bytes = 1024});
    const std::uint32_t launch = writer.text("cudaLaunchKernel");
    writer.write(PushActivity{.time_ns = t, .name = writer.text("step"), .thread = 3});
    writer.write(CallActivity{
        .start_ns = t + 10, .duration_ns = 5, .name = launch, .correlation = 1, .thread = 3});
    writer.write(KernelActivity{
        .start_ns = t + 100, .duration_ns = 50, .shape = shape, .correlation = 1, .stream = 7});
    writer.write(PopActivity{.time_ns = t + 200, .thread = 3});
    writer.write(CallActivity{
        .start_ns = t + 210, .duration_ns = 5, .name = launch, .correlation = 2, .thread = 3});
    writer.write(KernelActivity{
        .start_ns = t + 300, .duration_ns = 70, .shape = shape, .correlation = 2, .stream = 7});
    writer.copy({.start_ns = t + 400,
                 .duration_ns = 30,
                 .bytes = 4096,
                 .name = writer.text("Memcpy DtoH (Device -> Pinned)"),
                 .correlation = 3});
    // The driver describes its devices late.
    writer.write(DeviceActivity{
        .multiprocessors = 132, .major = 9, .uuid_low = process.uuid, .name = "NVIDIA H200"});
    if (process.finishes) writer.write(FinishActivity{.time_ns = t + second});
    writer.flush();
}

std::string bytes_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::string& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
}

std::string range_of(const Trace& trace, const Kernel& kernel) {
    if (kernel.range == none) return "-";
    return trace.text(trace.operators[static_cast<std::size_t>(kernel.range)].name);
}

}  // namespace

TEST_CASE("An activity file becomes a trace: kernels, copies, launches, ranges, the GPU") {
    const Folder folder;
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
    CHECK(range_of(trace, first) == "step");
    CHECK(range_of(trace, trace.kernels[1]) == "-");
    REQUIRE(first.launch != none);
    CHECK(trace.launches[static_cast<std::size_t>(first.launch)].end_ns ==
          static_cast<std::int64_t>(second) + 15);
    CHECK(trace.kernels[2].kind == ActivityKind::copy);
    CHECK(trace.kernels[2].bytes == 4096);
    CHECK(timeline_of(trace).kernel_ns == 150);
}

TEST_CASE("Ranks of a run are one trace, their GPUs told apart by UUID") {
    const Folder folder;
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
    const Folder folder;
    write_process(folder.file("times"), {});
    {
        ActivityWriter writer;
        REQUIRE(writer.open(folder.file("counters")));
        writer.write(ProcessActivity{
            .mode = static_cast<std::uint32_t>(RecordingMode::counters), .pid = 20, .run = 7});
        const std::uint32_t name = writer.text("void add<4>(float*)");
        // Registers and shared memory are not known at a launch.
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
    // Ranges of the run that counts are not those of the run that is timed.
    CHECK(trace.operators.size() == 1);
    REQUIRE(trace.notes.size() == 1);
    CHECK(trace.notes[0] == "process 20: no counters: of the rest");
}

TEST_CASE("A part of a trace by the name of a range") {
    const Folder folder;
    write_process(folder.file("a"), {});
    Trace trace = read_trace(folder.file("a"));
    CHECK_THROWS_WITH(keep_range(trace, "stp"), contains_text("'step'"));
    trace = read_trace(folder.file("a"));
    keep_range(trace, "step");
    REQUIRE(trace.kernels.size() == 1);
    CHECK(trace.kernels[0].duration_ns == 50);
}

TEST_CASE("A range holds what other threads of its process launch meanwhile") {
    const Folder folder;
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

TEST_CASE("A process that was killed leaves its open ranges and what it had written") {
    const Folder folder;
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
    CHECK(range_of(trace, trace.kernels[0]) == "train");
    REQUIRE(trace.notes.size() == 2);
    CHECK(trace.notes[0].find("lost 12 records") != std::string::npos);
    CHECK(trace.notes[1].find("process 33: did not end in order") != std::string::npos);
}

TEST_CASE("Ranges of PyTorch's emit_nvtx are operators with their shapes") {
    const Folder folder;
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
    CHECK(range_of(trace, trace.kernels[0]) == "step");
}

TEST_CASE("Cut off anywhere, a file gives what stands before, and says where it ends") {
    const Folder folder;
    write_process(folder.file("whole"), {});
    const std::string whole = bytes_of(folder.file("whole"));
    std::size_t kernels = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string file = folder.file("cut");
        write_bytes(file, whole.substr(0, size));
        if (size < activity_magic.size()) {
            CHECK_FALSE(is_activity_file(file));
            continue;
        }
        const Trace trace = read_trace(file);
        REQUIRE(trace.kernels.size() >= kernels);
        REQUIRE(trace.kernels.size() <= kernels + 1);
        kernels = trace.kernels.size();
        // Between two records the file is whole; it only lacks its end.
        if (trace.read.damage.empty()) {
            CHECK(trace.read.bytes == size);
        } else {
            CHECK(trace.read.bytes < size);
        }
    }
    CHECK(kernels == 3);
}

TEST_CASE("Hostile records end a file where they stand") {
    const Folder folder;
    const auto damage_of = [&folder](const auto& write) {
        const std::string file = folder.file("hostile");
        fs::remove(file);
        {
            ActivityWriter writer;
            REQUIRE(writer.open(file));
            writer.write(ProcessActivity{});
            write(writer);
            writer.write(FinishActivity{});
        }
        return read_trace(file).read.damage;
    };
    constexpr std::uint64_t never = ~std::uint64_t{0};
    CHECK(damage_of([](ActivityWriter& writer) {
              writer.write(KernelActivity{});
          }).find("names shape 0 of 0") != std::string::npos);
    CHECK(damage_of([](ActivityWriter& writer) {
              static_cast<void>(writer.shape({.name = 7}));
          }).find("names text 7 of 0") != std::string::npos);
    CHECK(damage_of([](ActivityWriter& writer) {
              writer.copy({.start_ns = never, .duration_ns = never});
          }).find("out of range") != std::string::npos);
    CHECK(damage_of([](ActivityWriter& writer) {
              writer.write(SampleActivity{.duration_ns = never});
          }).find("out of range") != std::string::npos);
    // A pop too many, an end without a start and a count of nothing are no damage.
    CHECK(damage_of([](ActivityWriter& writer) {
              writer.write(PopActivity{});
              writer.write(StopActivity{.time_ns = never, .id = 5});
              writer.write(LostActivity{.records = never});
              writer.write(LostActivity{.records = never});
          }).empty());
}

TEST_CASE("A reader passes over records and fields that it does not know") {
    const Folder folder;
    write_process(folder.file("a"), {});
    std::string bytes = bytes_of(folder.file("a"));
    const auto record = [](std::uint32_t tag, const std::string& payload) {
        const std::uint32_t head = tag | static_cast<std::uint32_t>(payload.size()) << 8U;
        std::string text(sizeof head, '\0');
        std::memcpy(text.data(), &head, sizeof head);
        return text + payload;
    };
    bytes += record(200, "something of the future");
    std::string longer;
    KernelActivity kernel{.start_ns = 2 * second, .duration_ns = 9, .correlation = 99};
    FieldWriter writer(longer);
    describe(writer, kernel);
    bytes += record(static_cast<std::uint32_t>(ActivityTag::kernel), longer + "more");
    bytes += record(static_cast<std::uint32_t>(ActivityTag::kernel), longer.substr(0, 20));
    write_bytes(folder.file("b"), bytes);
    const Trace trace = read_trace(folder.file("b"));
    CHECK(trace.read.damage.empty());
    REQUIRE(trace.kernels.size() == 5);
    CHECK(trace.kernels[3].duration_ns == 9);
    CHECK(trace.kernels[4].duration_ns == 9);
}

TEST_CASE("The first record names every field of every record") {
    const std::string schema = activity_schema();
    CHECK(schema.find("6 kernel start_ns:u64 duration_ns:u64 shape:u32") != std::string::npos);
    CHECK(schema.find("18 finish time_ns:u64\n") != std::string::npos);
    const Folder folder;
    write_process(folder.file("a"), {});
    CHECK(bytes_of(folder.file("a")).find(schema) == activity_magic.size() + 4);
}

TEST_CASE("A file that is there already is not written over, and a folder must exist") {
    const Folder folder;
    write_process(folder.file("a"), {});
    ActivityWriter again;
    CHECK_FALSE(again.open(folder.file("a")));
    ActivityWriter nowhere;
    CHECK_FALSE(nowhere.open(folder.file("no/such/folder")));
}

TEST_CASE("Options travel to the library as text") {
    const RecordingOptions options{.prefix = "/tmp/a=b\nc",
                                   .run = 18446744073709551615U,
                                   .wait_for_start = true,
                                   .whole_graphs = true,
                                   .delay_ms = 5,
                                   .duration_ms = 6,
                                   .counted = 2,
                                   .sample_ns = 100000,
                                   .once = true,
                                   .repeats = true,
                                   .continued = true};
    const auto back = recording_options_of(to_text(options));
    REQUIRE(back);
    CHECK(back->prefix == options.prefix);
    CHECK(back->run == options.run);
    CHECK(back->wait_for_start);
    CHECK(back->whole_graphs);
    CHECK(back->delay_ms == 5);
    CHECK(back->duration_ms == 6);
    CHECK(back->counted == 2);
    CHECK(back->sample_ns == 100000);
    CHECK(back->once);
    CHECK(back->repeats);
    CHECK(back->continued);
    CHECK_FALSE(recording_options_of(""));
    CHECK_FALSE(recording_options_of("run=5\n"));
}

TEST_CASE("A kernel known by its counters takes its bytes or its arithmetic, whichever is longer") {
    const Folder folder;
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
        fs::remove(folder.file("times"));
        fs::remove(folder.file("counters"));
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
    // 2 launches of 1 GB at 4.8 TB/s at best.
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
