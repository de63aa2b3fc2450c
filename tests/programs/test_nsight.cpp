// Reports of Nsight Compute (CSV) and Nsight Systems (SQLite) read as traces: whole, cut and
// hostile.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "hardware/error.h"
#include "hardware/units.h"
#include "model/catalogue/catalogue.h"
#include "programs/report/trace_report.h"
#include "programs/traces/nsight_compute.h"
#include "programs/traces/nsight_systems.h"
#include "programs/traces/trace.h"
#include "tests/catch.h"
#include "tests/programs/operator_name.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge;
using namespace ridge::programs;
using ridge::test::TemporaryFile;

namespace {

const std::string wide = R"csv(==PROF== Connected to process 77 (/usr/bin/python)
loss 3.14
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","device__attribute_display_name","dram__bytes.sum","gpu__time_duration.sum","launch__registers_per_thread"
"","","","","","","","","","","","","Mbyte","usecond","register/thread"
"0","77","python","host","void scale<float, 4>(float*, ""x"")","1","7","(128, 1, 1)","(1,024, 2, 1)","0","9.0","NVIDIA H200","1,234.5","310.25","32"
"1","77","python","host","gemm","1","13","(384, 1, 1)","(132, 1, 1)","0","9.0","NVIDIA H200","0.5","2.000","168"
)csv";

const std::string lengthwise =
    R"csv("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","77","python","host","scale","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","Kbyte","100"
"0","77","python","host","scale","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_write.sum","byte","1,000"
"0","77","python","host","scale","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","ns","5,000"
"1","77","python","host","scale","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","msecond","0.002"
"2","77","python","host","untimed","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","Kbyte","100"
)csv";

}  // namespace

TEST_CASE("kernels of Nsight Compute, one line per kernel", "[nsight]") {
    const TemporaryFile file(wide, ".csv");
    const Trace trace = read_trace(file.path());
    CHECK(trace.recorder == TraceSource::nsight_compute);
    CHECK_FALSE(trace.has_timeline());
    CHECK(trace.read.damage.empty());
    CHECK(trace.device_name() == "NVIDIA H200");
    REQUIRE(trace.kernels.size() == 2);
    const Kernel& scale = trace.kernels[0];
    CHECK(trace.text(scale.name) == "void scale<float, 4>(float*, \"x\")");
    CHECK(scale.duration_ns == 310250);
    CHECK(scale.dram_bytes == 1234500000);
    CHECK(scale.stream == 7);
    CHECK(scale.block == std::array<std::int64_t, 3>{128, 1, 1});
    CHECK(scale.registers == 32);
    CHECK(trace.kernels[1].start_ns == 310250);  // one after another
    CHECK(trace.kernels[1].dram_bytes == 500000);
}

TEST_CASE("kernels of Nsight Compute, one line per metric", "[nsight]") {
    const TemporaryFile file(lengthwise, ".csv");
    const Trace trace = read_trace(file.path());
    REQUIRE(trace.kernels.size() == 2);  // the third has no time
    CHECK(trace.kernels[0].duration_ns == 5000);
    CHECK(trace.kernels[0].dram_bytes == 101000);
    CHECK(trace.kernels[1].duration_ns == 2000);
    CHECK(trace.kernels[1].dram_bytes == -1);
    CHECK(trace.device_name().empty());
}

TEST_CASE("a table that Nsight Compute wrote for a PyTorch program on an H200", "[nsight]") {
    const Trace trace = read_trace(RIDGE_NCU);
    CHECK(trace.recorder == TraceSource::nsight_compute);
    CHECK(trace.read.damage.empty());
    CHECK(trace.device_name() == "NVIDIA H200");
    REQUIRE(trace.kernels.size() == 10);
    std::int64_t time = 0;
    for (const Kernel& kernel : trace.kernels) {
        time += kernel.duration_ns;
        CHECK(kernel.dram_bytes > 0);
        CHECK(kernel.grid[0] > 0);
    }
    CHECK(time == 588640);
    CHECK(trace.kernels[2].duration_ns == 176320);
    CHECK(trace.text(trace.kernels[2].name) == "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT");
}

TEST_CASE("tables that are cut, ragged or without times", "[nsight]") {
    // The rows before the cut are read, and a row that is cut is read or reported.
    const std::size_t first = wide.find("\n\"0\",") + 1;
    const std::size_t second = wide.find("\n\"1\",") + 1;
    for (std::size_t length = wide.find("\"ID\"") + 60; length < wide.size(); ++length) {
        INFO(length);
        const std::size_t rows = length < second ? 0 : 1;
        const TemporaryFile file(wide.substr(0, length), ".csv");
        try {
            const Trace trace = read_trace(file.path());
            REQUIRE(length > first);
            REQUIRE(trace.kernels.size() >= rows);
            REQUIRE(trace.kernels.size() <= rows + 1);
            CHECK(trace.kernels[0].duration_ns == 310250);
            const bool cut = length != second;
            CHECK((trace.kernels.size() > rows || !cut || !trace.read.damage.empty()));
        } catch (const InputError& error) {
            CHECK(rows == 0);
            CHECK(error.location().file == file.path());
        }
    }
    const TemporaryFile ragged(wide + "\"2\",\"77\",\"python\"\n", ".csv");
    const Trace trace = read_trace(ragged.path());
    CHECK(trace.kernels.size() == 2);
    CHECK(trace.read.damage.find("columns do not match the header at byte") != std::string::npos);
    const TemporaryFile open_quote(wide + "\"2\",\"77", ".csv");
    CHECK(
        read_trace(open_quote.path()).read.damage.find("columns do not match the header at byte") !=
        std::string::npos);
    std::string untimed = wide;
    untimed.replace(untimed.find("gpu__time_duration"), 18, "gpu__time_elsewhere");
    const TemporaryFile without(untimed, ".csv");
    CHECK_THROWS_WITH(read_trace(without.path()), contains_text("no kernel with a time"));
    for (const char* value : {"1e400", "-5", "nan", "", "12x", "0x10"}) {
        std::string strange = wide;
        strange.replace(strange.find("310.25"), 6, value);
        const TemporaryFile file(strange, ".csv");
        INFO(value);
        CHECK(read_trace(file.path()).kernels.size() == 1);
    }
}

TEST_CASE("a report of Nsight Systems gives processes, ranges, copies and a graph", "[nsight]") {
    const Trace trace = read_trace(RIDGE_NSYS);
    CHECK(trace.recorder == TraceSource::nsight_systems);
    CHECK(trace.read.damage.empty());
    CHECK(trace.device_name() == "NVIDIA H200");
    REQUIRE(trace.kernels.size() == 5);
    const auto named = [&trace](std::int32_t op) { return ridge::test::operator_name(trace, op); };
    const Kernel& gemm = trace.kernels[0];
    CHECK(named(gemm.op) == "aten::mm");
    CHECK(named(gemm.range) == "forward");
    CHECK(gemm.grid[0] == 256);
    CHECK(gemm.shared_bytes == 3072);
    CHECK(trace.launches[static_cast<std::size_t>(gemm.launch)].start_ns == 1100);
    const Kernel& copy = trace.kernels[1];
    CHECK(copy.kind == ActivityKind::copy);
    CHECK(copy.bytes == 1048576);
    CHECK(copy.range == none);  // another process with the same correlation
    CHECK(trace.launches[static_cast<std::size_t>(copy.launch)].end_ns == 1900);
    CHECK(trace.kernels[2].kind == ActivityKind::fill);
    CHECK(named(trace.kernels[3].range) == "loss");
    CHECK(trace.kernels[3].op == none);
    CHECK(trace.text(trace.kernels[4].name) == "CUDA graph, recorded as a whole");

    const TraceReport report =
        report_of(trace, model::make_machine(model::catalogue().at("h200-sxm")));
    REQUIRE(report.operators[0].name == "aten::mm");
    CHECK(report.operators[0].basis == Basis::shapes);
    const auto& op = std::get<model::Matmul>(report.operators[0].steps.at(0).operation);
    CHECK(op.n == 8192);
    CHECK(op.type == model::DataType::bf16);  // from the kernel's name
    CHECK(report.operators[0].predicted->in(units::us) == Approx(90.0).epsilon(0.15));
    const auto row_of = [&report](std::string_view name) {
        const auto found =
            std::find_if(report.operators.begin(), report.operators.end(),
                         [name](const OperatorRow& row) { return row.name == name; });
        INFO(name);
        REQUIRE(found != report.operators.end());
        return *found;
    };
    const OperatorRow moved = row_of("Memcpy HtoD");
    CHECK(moved.predicted);
    CHECK(moved.driver);
    CHECK(moved.avoidable == Time{});
    const OperatorRow unknown = row_of("void my_kernel<float>(float*)");
    CHECK_FALSE(unknown.predicted);
    CHECK(unknown.reason == "the profiler records no shapes: only the kernel's name is known");
}

TEST_CASE("a damaged SQLite file is reported as damaged or refused", "[nsight]") {
    const std::string whole = ridge::test::text_of(RIDGE_NSYS);
    REQUIRE(whole.size() > 4096);
    std::size_t said = 0;
    for (std::size_t length = 100; length < whole.size(); length += 389) {
        const TemporaryFile file(whole.substr(0, length), ".sqlite");
        try {
            if (!read_trace(file.path()).read.damage.empty()) ++said;
        } catch (const InputError&) {
            ++said;
        }
    }
    CHECK(said > 10);
    for (std::size_t at = 100; at < whole.size(); at += 97) {
        std::string flipped = whole;
        flipped[at] = static_cast<char>(~flipped[at]);
        const TemporaryFile file(flipped, ".sqlite");
        try {
            const Trace trace = read_trace(file.path());
            CHECK(trace.kernels.size() < 1000);
        } catch (const InputError& error) {
            CHECK(error.location().file == file.path());
        }
    }
    const TemporaryFile bare(std::string("SQLite format 3\0", 16), ".sqlite");
    CHECK_THROWS_AS(read_trace(bare.path()), InputError);
}

TEST_CASE("a SQLite file with endless rows or texts is reported as damaged or refused",
          "[nsight]") {
    const std::string report = RIDGE_NSYS;
    const std::string folder = report.substr(0, report.rfind('/'));
    // A view that counts without end, with and without rows.
    for (const char* name : {"/endless_view.sqlite", "/silent_view.sqlite"}) {
        const Trace trace = read_trace(folder + name);
        INFO(name);
        CHECK(trace.kernels.size() == 5);
        CHECK(trace.read.damage == "contains a view or a computed value, which is not read");
    }
    // A computed column that makes 6 kB per row.
    CHECK_THROWS_WITH(read_trace(folder + "/computed_texts.sqlite"),
                      contains_text("contains more rows than its size allows"));
}

TEST_CASE("ranges that name an operator are recognised", "[nsight]") {
    const RangeOperator mm = operator_in("aten::mm, op_id = 7, sizes = [[8, 4], [], [4, 2]]");
    CHECK(mm.name == "aten::mm");
    CHECK(mm.inputs == R"(["?","?","?"]|[[8, 4], [], [4, 2]]||)");
    CHECK(operator_in("aten::relu, seq = 3").name == "aten::relu");
    CHECK(operator_in("flash_attn::forward, op_id = 3").name == "flash_attn::forward");
    CHECK(operator_in("aten::relu, op_id = 1, sizes = [[8").inputs.empty());
    CHECK(operator_in("aten::relu, op_id = 1, sizes = ").inputs.empty());
    for (const char* range : {"", "step 3", "std::sort of things", "a, b", "]]", "[["}) {
        CHECK(operator_in(range).name.empty());
    }
}

namespace {

/// A report of three kernels on a GPU of compute capability 9.0 that has no name.
const std::string with_pipes =
    R"csv("ID","Kernel Name","Stream","Block Size","Grid Size","Device","CC","dram__bytes.sum","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","sm__ops_path_tensor_src_bf16_dst_fp32.sum"
"","","","","","","","Mbyte","usecond","%","%","%","%","inst",""
"0","stream","7","(128, 1, 1)","(1024, 1, 1)","0","9.0","200","60","20","92","91","0","1,000","0"
"1","product","7","(128, 1, 1)","(132, 1, 1)","0","9.0","50","180","88","40","15","86","0","137,438,953,472"
"2","waits","7","(128, 1, 1)","(1, 1, 1)","0","9.0","1","50","9","3","1","0","100","0"
"3","cached","7","(128, 1, 1)","(512, 1, 1)","0","9.0","1","50","30","85","1","0","100","0"
)csv";

const OperatorRow& row_named(const TraceReport& report, std::string_view name) {
    const auto found = std::find_if(report.operators.begin(), report.operators.end(),
                                    [name](const OperatorRow& row) { return row.kernel == name; });
    REQUIRE(found != report.operators.end());
    return *found;
}

}  // namespace

TEST_CASE("bound and limiter of a kernel in a report follow from its pipes", "[nsight]") {
    const TemporaryFile file(with_pipes, ".csv");
    const Trace trace = read_trace(file.path());
    CHECK(trace.device_name().empty());
    CHECK(trace.capability() == 90);
    const auto gpus = model::catalogue();
    const TraceReport report = report_of(trace, model::make_machine(gpus.at("h100-sxm")));
    CHECK(row_named(report, "stream").bound == "memory");
    CHECK(row_named(report, "stream").limiter == "dram");
    CHECK(row_named(report, "product").bound == "compute");
    CHECK(row_named(report, "product").limiter == "tensor");
    CHECK(row_named(report, "product").counters->tensor_flop == 137438953472.0);
    CHECK(row_named(report, "waits").limiter == "latency");
    CHECK(row_named(report, "cached").bound == "memory");
    CHECK(row_named(report, "cached").limiter == "l2");
    // Bytes counted at the DRAM came from there: 200 MB at 3.35 TB/s.
    CHECK(row_named(report, "stream").lower_bound.in(units::us) >= Approx(200e6 / 3.35e12 * 1e6));
    CHECK(row_named(report, "stream").predicted >= row_named(report, "stream").lower_bound);
}

TEST_CASE("a report that counts only DRAM bytes names no bound it cannot know", "[nsight]") {
    const TemporaryFile file(wide, ".csv");
    const auto gpus = model::catalogue();
    const TraceReport report =
        report_of(read_trace(file.path()), model::make_machine(gpus.at("h200-sxm")));
    CHECK(row_named(report, "gemm").bound.empty());
    CHECK(row_named(report, "void scale<float, 4>(float*, \"x\")").bound == "memory");
    // 1234.5 MB in 310.25 us are 3.98 TB/s of 4.8.
    CHECK(report.notes.empty());
    const TraceReport slower =
        report_of(read_trace(file.path()), model::make_machine(gpus.at("a100-sxm-80gb")));
    REQUIRE(slower.notes.size() == 1);
    CHECK(slower.notes.front().find("faster than the limit") != std::string::npos);
}
