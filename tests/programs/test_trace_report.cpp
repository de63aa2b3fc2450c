// Reports on PyTorch's own traces: everything attributed, the known savings found.
#include <algorithm>

#include "model/machine/catalogue.h"
#include "programs/report/trace_report.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::programs;

namespace {

TraceReport report_on(const std::string& name, const char* gpu = "h200-sxm") {
    static const hardware::Catalogue catalogue = model::catalogue();
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

TEST_CASE("nine in ten microseconds of the traces are attributed and modelled", "[report]") {
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

TEST_CASE("a prefill's savings: the host, the norms, the rotary embedding", "[report]") {
    const TraceReport report = report_on("trace_llama_prefill");
    const Saving* const idle = saving_with(report, SavingKind::idle, "graph");
    REQUIRE(idle != nullptr);
    CHECK(idle->saves().in(units::us) == Approx(2290.6).epsilon(0.01));
    // Two layers with two norms each, behind the residual's sum.
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
}

TEST_CASE("an empty trace has an empty report", "[report]") {
    const TraceReport report =
        report_of(Trace{}, model::make_machine(model::catalogue().at("h200-sxm")));
    CHECK(report.operators.empty());
    CHECK(report.savings.empty());
    CHECK(report.attributed_share == 0.0);
}
