// Diagnoses: verdicts, order, causes; thresholds on the repository's own records.
#include <algorithm>
#include <string>
#include <vector>

#include "answers/diagnose.h"
#include "answers/diagnose_text.h"
#include "hardware/units.h"
#include "measure/record/record.h"
#include "model/core/fields.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {
namespace {

using answers::Report;
using answers::TimedOperation;
using answers::Verdict;

const model::Machine& by_name(std::string_view gpu) {
    return machine(catalogue().at(std::string(gpu)).name);
}

const model::Matmul square{.m = 4096, .n = 4096, .k = 4096};

Time expected_time() {
    return std::get<model::Prediction>(predict(square, {}, machine("h100-sxm"))).time;
}

TimedOperation timed(const std::string& name, Time measured, std::int64_t count = 1) {
    return {.name = name,
            .steps = {{.operation = square, .execution = {}}},
            .gpu = "h100-sxm",
            .measured = measured,
            .count = count};
}

/// Share of the judged records of these folders that are called slow.
double slow_share(const std::string& folder, std::int64_t& judged, std::int64_t& impossible) {
    const auto file = measure::read_all_records({std::string(RIDGE_RECORDS) + "/" + folder});
    const Report report = answers::diagnose(answers::times_of(file.records), by_name);
    std::int64_t slow = 0;
    for (const answers::Case& one : report.cases) {
        judged += one.verdict != Verdict::unknown ? 1 : 0;
        slow += one.verdict == Verdict::slow ? 1 : 0;
        impossible += one.verdict == Verdict::impossible ? 1 : 0;
    }
    return static_cast<double>(slow) / static_cast<double>(judged);
}

}  // namespace

TEST_CASE("rows are judged by their band and sorted by the time to win", "[diagnose]") {
    const Time usual = expected_time();
    const std::vector<TimedOperation> rows{timed("usual", usual), timed("once", 4.0 * usual),
                                           timed("often", 2.0 * usual, 10),
                                           timed("unit", 0.001 * usual)};
    const Report report = answers::diagnose(rows, by_name, {"b200"});
    REQUIRE(report.cases.size() == 4);
    CHECK(report.cases[0].row.name == "unit");
    CHECK(report.cases[0].verdict == Verdict::impossible);
    CHECK(report.cases[0].of_roof > 1.0);
    CHECK(answers::roof_text(report.cases[0]).find("(!)") != std::string::npos);
    CHECK(report.cases[0].advice.find("1000") != std::string::npos);
    CHECK(report.cases[1].row.name == "often");
    CHECK(report.cases[1].to_win.base() == Approx(10.0 * usual.base()));
    CHECK(report.cases[2].row.name == "once");
    CHECK(report.cases[3].verdict == Verdict::as_expected);
    CHECK(report.cases[3].to_win == Time{});
    CHECK(report.cases[3].of_roof < 1.0);
    for (const answers::Case& one : report.cases) {
        REQUIRE(one.elsewhere.size() == 1);
        CHECK(*one.elsewhere[0].expected < usual);
    }
    CHECK(answers::verdict_of(report).find("most in often") != std::string::npos);
}

TEST_CASE("another way to carry it out is recognised by its time", "[diagnose]") {
    const model::Operation softmax = model::make_operation(
        model::OperationKind::softmax,
        model::parse_operation("softmax rows=8192 cols=8192 dtype=fp32").parameters);
    const auto manual =
        predict(softmax, {.implementation = model::Implementation::manual}, machine("h100-sxm"));
    const std::vector<TimedOperation> rows{{.name = "softmax",
                                            .steps = {{.operation = softmax, .execution = {}}},
                                            .gpu = "h100-sxm",
                                            .measured = std::get<model::Prediction>(manual).time}};
    const Report report = answers::diagnose(rows, by_name);
    CHECK(report.cases[0].verdict == Verdict::slow);
    CHECK(report.cases[0].why.find("impl=manual") != std::string::npos);
}

TEST_CASE("what is not modelled is listed last and never summed", "[diagnose]") {
    const std::vector<TimedOperation> rows{
        {.name = "odd",
         .steps = {{.operation =
                        model::Matmul{.m = 64, .n = 64, .k = 64, .type = model::DataType::fp8},
                    .execution = {}}},
         .gpu = "a100-sxm-80gb",
         .measured = 5.0 * units::us},
        timed("usual", expected_time())};
    const Report report = answers::diagnose(rows, by_name);
    CHECK(report.cases[1].verdict == Verdict::unknown);
    CHECK(report.unknown == 1);
    CHECK(report.measured.base() == Approx(expected_time().base()));
    CHECK(answers::to_json(report.cases[1]).find("expected_us")->is_null());
}

TEST_CASE("kernels that are made well are not called slow", "[diagnose][records]") {
    for (const char* folder : {"h100-sxm-judge", "h200-sxm-judge"}) {
        INFO(folder);
        std::int64_t judged = 0;
        std::int64_t impossible = 0;
        CHECK(slow_share(folder, judged, impossible) < 0.01);
        CHECK(judged >= 900);
        CHECK(impossible == 0);
    }
}

TEST_CASE("plain kernels are slow beside the library's", "[diagnose][records]") {
    auto file = measure::read_all_records({std::string(RIDGE_RECORDS) + "/h100-sxm"});
    std::vector<TimedOperation> rows;
    for (measure::Record& record : file.records) {
        const auto* product = std::get_if<model::Matmul>(&record.question.operation);
        const auto way = record.question.execution.implementation;
        const bool plain = way == model::Implementation::naive ||
                           way == model::Implementation::coalesced ||
                           way == model::Implementation::tiled;
        if (product == nullptr || !plain || !record.measured()) continue;
        record.question.execution.implementation = model::Implementation::automatic;
        rows.push_back(answers::times_of({&record, 1}).front());
    }
    REQUIRE(rows.size() > 10);
    const Report report = answers::diagnose(rows, by_name);
    const auto slow = std::count_if(report.cases.begin(), report.cases.end(),
                                    [](const auto& one) { return one.verdict == Verdict::slow; });
    CHECK(static_cast<double>(slow) > 0.8 * static_cast<double>(rows.size()));
}

}  // namespace ridge::test
