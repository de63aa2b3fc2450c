// Reports on PyTorch's own traces: everything is attributed, and the known savings are found.
#include <algorithm>

#include "model/catalogue/catalogue.h"
#include "programs/report/trace_report.h"
#include "programs/traces/trace_builder.h"
#include "tests/catch.h"
#include "tests/support/temporary_folder.h"

using namespace ridge;
using namespace ridge::programs;

namespace {

TraceReport report_on(const std::string& name, const char* gpu = "h200-sxm") {
    static const model::Catalogue catalogue = model::catalogue();
    return report_of(read_trace(std::string(RIDGE_TRACES "/") + name + ".json.gz"),
                     model::make_machine(catalogue.at(gpu)));
}

const Saving* saving_with(const TraceReport& report, SavingKind kind, const std::string& words) {
    for (const Saving& saving : report.savings) {
        if (saving.kind == kind && saving.what.find(words) != std::string::npos) return &saving;
    }
    return nullptr;
}

}  // namespace

TEST_CASE("99 % of the kernel time in the traces is attributed and modelled", "[report]") {
    for (const char* name : {"trace_llama_prefill", "trace_gpt2_train", "trace_llama_compiled"}) {
        const TraceReport report = report_on(name);
        INFO(name);
        CHECK(report.device == "NVIDIA H200");
        CHECK(report.attributed_share > 0.99);
        CHECK(report.modelled_share > 0.99);
        CHECK(report.damage.empty());
        Time total;
        for (const OperatorRow& row : report.operators) {
            total += row.measured;
            if (!row.predicted) continue;
            CHECK(row.low <= *row.predicted);
            CHECK(*row.predicted <= row.high);
            CHECK(row.lower_bound <= *row.predicted);
        }
        CHECK(total.in(units::ns) == Approx(static_cast<double>(report.timeline.kernel_ns)));
        CHECK(std::is_sorted(
            report.operators.begin(), report.operators.end(),
            [](const OperatorRow& a, const OperatorRow& b) { return a.measured > b.measured; }));
    }
}

TEST_CASE("savings of a prefill: the host, the norms, the rotary embedding", "[report]") {
    const TraceReport report = report_on("trace_llama_prefill");
    const Saving* const idle = saving_with(report, SavingKind::idle, "host");
    REQUIRE(idle != nullptr);
    CHECK(idle->saves().in(units::us) == Approx(2290.6).epsilon(0.01));
    // Two layers with two norms each, after the residual's sum.
    const Saving* const norm =
        saving_with(report, SavingKind::fusion, "pow, mean, add, rsqrt, mul, copy_, mul");
    REQUIRE(norm != nullptr);
    CHECK(norm->count == 4);
    CHECK(norm->kernels == 9);
    CHECK(norm->then < norm->now * 0.5);
    const Saving* const rotary = saving_with(report, SavingKind::fusion, "mul, neg, cat, mul, add");
    REQUIRE(rotary != nullptr);
    CHECK(rotary->count == 2);
}

TEST_CASE("each kernel has its row; late launches and avoidable work add up", "[report]") {
    const std::string file = std::string(RIDGE_TRACES "/trace_llama_prefill.json.gz");
    const Trace trace = read_trace(file);
    const TraceReport report = report_on("trace_llama_prefill");
    REQUIRE(report.row_of.size() == trace.kernels.size());
    std::vector<std::int64_t> measured(report.operators.size(), 0);
    for (std::size_t i = 0; i < report.row_of.size(); ++i) {
        measured.at(static_cast<std::size_t>(report.row_of[i])) += trace.kernels[i].duration_ns;
    }
    Time late;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        const OperatorRow& row = report.operators[i];
        CHECK(row.measured.in(units::ns) == Approx(static_cast<double>(measured[i])));
        CHECK(row.avoidable <= row.measured);
        CHECK(row.slower <= row.measured);
        late += row.host_late;
    }
    CHECK(late.in(units::ns) == Approx(static_cast<double>(report.timeline.host_late_ns)));
    CHECK(report.modelled_flop > 5e11);
    CHECK(report.utilisation == Approx(0.132).epsilon(0.02));
}

TEST_CASE("communication is predicted from its size, and its hidden part is counted", "[report]") {
    // 1 MiB of bf16 over 8 GPUs for 100 us, with a product beside the first half.
    Trace trace;
    trace.file = "two streams";
    TraceBuilder builder(trace);
    builder.add(Operator{.name = builder.text("record_param_comms"),
                         .start_ns = 0,
                         .end_ns = 10,
                         .external_id = 1,
                         .collective = builder.text("allreduce|524288|524288|BFloat16|8")});
    builder.add(Operator{.name = builder.text("step"), .end_ns = 1000, .range = true});
    builder.add(Kernel{.name = builder.text("ncclDevKernel_AllReduce"),
                       .start_ns = 1000,
                       .duration_ns = 100000,
                       .stream = 8},
                {.external_id = 1});
    builder.add(
        Kernel{.name = builder.text("gemm"), .start_ns = 1000, .duration_ns = 50000, .stream = 7},
        {});
    builder.finish();
    const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    const TraceReport report = report_of(trace, machine);
    REQUIRE(report.operators.size() == 2);
    const OperatorRow& collective = report.operators[0];
    CHECK(collective.family == OperatorFamily::communication);
    CHECK(collective.shape == "1.05 MB of bf16 over 8 GPUs");
    REQUIRE(collective.predicted);
    const model::Outcome alone =
        predict(model::Collective{.kind = model::CollectiveKind::all_reduce,
                                  .gpus = 8,
                                  .bytes = 1 << 20,
                                  .type = model::DataType::bf16},
                {}, machine);
    CHECK(*collective.predicted == std::get<model::Prediction>(alone).time);
    // Each GPU sends and receives 2 x 7/8 of it at 450 GB/s.
    CHECK(collective.predicted->in(units::us) > 4.0);
    CHECK(report.timeline.communication_ns == 100000);
    CHECK(report.timeline.communication_hidden_ns == 50000);
    const Saving* const overlap = saving_with(report, SavingKind::overlap, "nothing else runs");
    REQUIRE(overlap != nullptr);
    CHECK(overlap->saves().in(units::us) == Approx(50.0));
    REQUIRE(report.ranges.size() == 2);
    CHECK(report.ranges[0].name == "step");
    CHECK(report.ranges[1].name.empty());
}

TEST_CASE("kernels known only by counters are predicted from the bytes that they moved",
          "[report]") {
    Trace trace;
    trace.recorder = TraceSource::nsight_compute;
    TraceBuilder builder(trace);
    for (const std::int64_t bytes : {100'000'000, 102'000'000}) {
        builder.add(Kernel{.name = builder.text("mine"),
                           .duration_ns = 30000,
                           .dram_bytes = bytes,
                           .grid = {64, 1, 1}},
                    {});
    }
    builder.add(Kernel{.name = builder.text("mine"), .duration_ns = 30000, .grid = {8, 1, 1}}, {});
    builder.finish();
    const TraceReport report =
        report_of(trace, model::make_machine(model::catalogue().at("h200-sxm")));
    REQUIRE(report.operators.size() == 2);
    CHECK(report.operators[0].count == 2);
    CHECK(report.operators[0].basis == Basis::counters);
    // 101 MB at slightly less than 4.8 TB/s.
    CHECK(report.operators[0].predicted->in(units::us) / 2 == Approx(25.0).margin(4.0));
    CHECK_FALSE(report.operators[1].predicted);
    CHECK(report.operators[1].reason.find("dram__bytes") != std::string::npos);
    CHECK(report.timeline.idle_ns() == 0);
    CHECK(report.attributed_share == 0.0);  // there are only kernels
    CHECK(report.modelled_share == Approx(2.0 / 3.0));
}

TEST_CASE("the same program on another GPU", "[report]") {
    const TraceReport here = report_on("trace_llama_prefill");
    const TraceReport there = report_on("trace_llama_prefill", "a100-sxm-80gb");
    CHECK(there.machine == "a100-sxm-80gb");
    CHECK(there.timeline.kernel_ns == here.timeline.kernel_ns);
    Time first;
    Time second;
    for (const OperatorRow& row : here.operators) first += row.predicted.value_or(Time{});
    for (const OperatorRow& row : there.operators) second += row.predicted.value_or(Time{});
    CHECK(second > first);
    // Times measured on one GPU are not compared with predictions for another.
    const TraceReport elsewhere =
        report_of(read_trace(std::string(RIDGE_TRACES "/trace_llama_prefill.json.gz")),
                  model::make_machine(model::catalogue().at("a100-sxm-80gb")), Target::other);
    CHECK(elsewhere.elsewhere);
    CHECK(elsewhere.utilisation == 0.0);
    CHECK(elsewhere.savings.empty());
    CHECK(saving_with(here, SavingKind::slower, "") != nullptr);
    for (const OperatorRow& row : elsewhere.operators) CHECK(row.slower == Time{});
}

TEST_CASE("no verdict of slowness rests on a data sheet alone", "[report]") {
    const ridge::test::TemporaryFile file(
        R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","tid":1,"ts":0,"dur":5,"args":{)"
        R"("External id":1,"Input type":["c10::BFloat16","c10::BFloat16"],)"
        R"("Input Dims":[[4096,4096],[4096,4096]],"Input Strides":[[4096,1],[4096,1]],)"
        R"("Concrete Inputs":["",""]}},{"ph":"X","cat":"kernel","name":"gemm","tid":7,"ts":2,)"
        R"("dur":90000,"args":{"External id":1,"stream":7}}]})");
    const Trace trace = read_trace(file.path());
    const auto report_for = [&trace](const char* gpu) {
        return report_of(trace, model::make_machine(model::catalogue().at(gpu)));
    };
    CHECK(saving_with(report_for("h200-sxm"), SavingKind::slower, "mm") != nullptr);
    const TraceReport sheet = report_for("mi300x");
    REQUIRE(sheet.operators.size() == 1);
    CHECK(sheet.operators[0].measured > sheet.operators[0].high);
    CHECK(saving_with(sheet, SavingKind::slower, "") == nullptr);
}

TEST_CASE("a copy of JAX from the host crosses PCIe, and nothing else of it is predicted",
          "[report]") {
    const TraceReport report = report_on("trace_jax");
    int copies = 0;
    for (const OperatorRow& row : report.operators) {
        if (row.kernel != "MemcpyH2D" && row.kernel != "MemcpyD2H") continue;
        ++copies;
        REQUIRE(row.predicted.has_value());
        CHECK((row.kernel == "MemcpyD2H" || row.limiter == "link"));  // 16 KiB are a launch
        CHECK(row.measured < 2.0 * *row.predicted);
        CHECK(*row.predicted < 2.0 * row.measured);
    }
    CHECK(copies == 2);
    CHECK(report.modelled_share < 0.02);
    CHECK(report.attributed_share > 0.99);
    CHECK(saving_with(report, SavingKind::slower, "") == nullptr);
    CHECK(saving_with(report, SavingKind::copies, "") == nullptr);
}

TEST_CASE("an empty trace has an empty report", "[report]") {
    const TraceReport report =
        report_of(Trace{}, model::make_machine(model::catalogue().at("h200-sxm")));
    CHECK(report.operators.empty());
    CHECK(report.savings.empty());
    CHECK(report.attributed_share == 0.0);
}

TEST_CASE("changes of a whole program: 16 bits, channels last, fused attention", "[report]") {
    const auto operation = [](const char* name, const char* arguments, int start, double kernel,
                              int id) {
        const std::string number = std::to_string(id);
        return R"({"ph":"X","cat":"cpu_op","name":")" + std::string(name) + R"(","tid":1,"ts":)" +
               std::to_string(start) + R"(,"dur":5,"args":{"External id":)" + number + "," +
               arguments + R"(}},{"ph":"X","cat":"kernel","name":"k","tid":7,"ts":)" +
               std::to_string(start + 2) + R"(,"dur":)" + std::to_string(kernel) +
               R"(,"args":{"External id":)" + number + R"(,"stream":7}})";
    };
    const auto report_on_text = [](const std::string& text) {
        const ridge::test::TemporaryFile file(
            R"({"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],"traceEvents":[)" + text + "]}");
        return report_of(read_trace(file.path()),
                         model::make_machine(model::catalogue().at("h200-sxm")));
    };
    const TraceReport wide = report_on_text(
        operation("aten::mm",
                  R"("Input type":["float","float"],"Input Dims":[[8192,4096],[4096,4096]],)"
                  R"("Input Strides":[[4096,1],[4096,1]],"Concrete Inputs":["",""])",
                  0, 6000.0, 1));
    const Saving* const narrower = saving_with(wide, SavingKind::precision, "bf16");
    REQUIRE(narrower != nullptr);
    CHECK(narrower->then < narrower->now * 0.2);  // tensor cores of 16 bits instead of fp32 pipes
    CHECK(narrower->then > narrower->now * 0.04);

    const TraceReport planes = report_on_text(operation(
        "aten::cudnn_convolution",
        R"("Input type":["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"],)"
        R"("Input Dims":[[64,64,56,56],[64,64,3,3],[],[],[],[]],)"
        R"("Input Strides":[[200704,3136,56,1],[576,9,3,1],[],[],[],[]],)"
        R"("Concrete Inputs":["","","[1, 1]","[1, 1]","[1, 1]","1"])",
        0, 200.0, 1));
    const Saving* const turned = saving_with(planes, SavingKind::layout, "channels last");
    REQUIRE(turned != nullptr);
    CHECK(turned->then < turned->now);

    const char* const scores =
        R"("Input type":["c10::BFloat16","c10::BFloat16"],"Input Dims":[[64,1024,64],[64,64,1024]],)"
        R"("Input Strides":[[65536,64,1],[65536,1,64]],"Concrete Inputs":["",""])";
    const char* const weights =
        R"("Input type":["c10::BFloat16","Scalar","Scalar"],"Input Dims":[[64,1024,1024],[],[]],)"
        R"("Input Strides":[[1048576,1024,1],[],[]],"Concrete Inputs":["","-1","False"])";
    const char* const mixed =
        R"("Input type":["c10::BFloat16","c10::BFloat16"],"Input Dims":[[64,1024,1024],[64,1024,64]],)"
        R"("Input Strides":[[1048576,1024,1],[65536,64,1]],"Concrete Inputs":["",""])";
    const TraceReport parts = report_on_text(operation("aten::bmm", scores, 0, 100.0, 1) + "," +
                                             operation("aten::_softmax", weights, 200, 100.0, 2) +
                                             "," + operation("aten::bmm", mixed, 400, 100.0, 3));
    const Saving* const fused = saving_with(parts, SavingKind::attention, "one kernel");
    REQUIRE(fused != nullptr);
    CHECK(fused->now.in(units::us) == Approx(300.0));
    CHECK(fused->then < fused->now * 0.5);
    CHECK(saving_with(parts, SavingKind::precision, "") == nullptr);
    CHECK(saving_with(parts, SavingKind::layout, "") == nullptr);
}
