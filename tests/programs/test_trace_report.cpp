// Reports on PyTorch's own traces: everything is attributed, and the known savings are found.
#include <algorithm>

#include "model/catalogue/catalogue.h"
#include "programs/report/trace_report.h"
#include "programs/traces/trace_builder.h"
#include "tests/catch.h"

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

TEST_CASE("an empty trace has an empty report", "[report]") {
    const TraceReport report =
        report_of(Trace{}, model::make_machine(model::catalogue().at("h200-sxm")));
    CHECK(report.operators.empty());
    CHECK(report.savings.empty());
    CHECK(report.attributed_share == 0.0);
}
