// Validation finds errors and their causes in records that were made with known ones.
#include <cmath>

#include "measure/judge/validate.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"

using namespace ridge;
using namespace ridge::measure;
using ridge::test::catalogue;
using ridge::test::h200_plan;
using ridge::test::question;

namespace {

std::vector<Record> records_with_bias(double bias, const std::vector<std::string>& texts) {
    FakePlan plan = h200_plan();
    plan.bias = bias;
    plan.noise = 0.0;
    FakeDevice device(plan);
    std::vector<Record> records;
    for (const std::string& text : texts)
        records.push_back(*measure_one(device, question(text), {}));
    return records;
}

}  // namespace

TEST_CASE("a known bias is found") {
    const std::vector<Record> records =
        records_with_bias(1.25, {"matmul m=4096 n=4096 k=4096", "matmul m=8192 n=8192 k=8192",
                                 "copy elements=268435456 dtype=fp32"});
    const Validation v = validate(records, catalogue(), model::View::calibrated);
    REQUIRE(v.comparisons.size() == 3);
    CHECK(v.unused.empty());
    REQUIRE(v.groups.size() == 2);
    CHECK(v.groups[0].operation == "copy");
    CHECK(v.groups[1].operation == "matmul");
    CHECK(v.groups[1].errors.count == 2);
    for (const GroupSummary& group : v.groups) {
        // predicted / (1.25 predicted) - 1
        CHECK(group.errors.bias == Approx(-0.2).epsilon(1e-3));
        CHECK(group.errors.median == Approx(0.2).epsilon(1e-3));
        CHECK(group.errors.p90 == Approx(0.2).epsilon(1e-3));
    }
    CHECK(v.overall->errors.count == 3);
    CHECK(exceeding(v, 0.25).empty());
    CHECK(exceeding(v, 0.15).size() == 2);
}

TEST_CASE("the error splits into work and rate") {
    std::vector<Record> records = records_with_bias(
        1.0, {"copy elements=268435456 dtype=fp32", "matmul m=8192 n=8192 k=8192"});
    // The hardware moved 10 % more than predicted and computed 2 % more.
    for (Record& record : records) {
        Counters counters = std::get<Counters>(record.counters);
        counters.dram_read = *counters.dram_read * 1.1;
        counters.dram_write = *counters.dram_write * 1.1;
        if (counters.tensor) counters.tensor = *counters.tensor * 1.02;
        record.counters = counters;
    }
    const Validation v = validate(records, catalogue(), model::View::calibrated);
    REQUIRE(v.comparisons.size() == 2);
    const Comparison& copy = v.comparisons[0];
    CHECK(*copy.dram == Approx(1.0 / 1.1));
    CHECK(*copy.work == Approx(1.0 / 1.1));
    CHECK(*copy.work * *copy.rate == Approx(1.0 + copy.error));
    const Comparison& matmul = v.comparisons[1];
    CHECK(*matmul.flop == Approx(1.0 / 1.02));
    CHECK(*matmul.work == Approx(1.0 / 1.02));
}

TEST_CASE("L2 bytes and executed FLOP are compared and their mean errors reported") {
    std::vector<Record> records =
        records_with_bias(1.0, {"matmul m=8192 n=8192 k=8192", "matmul m=4096 n=4096 k=4096"});
    for (std::size_t i = 0; i < records.size(); ++i) {
        Counters counters = std::get<Counters>(records[i].counters);
        counters.sm_l2 = *counters.sm_l2 * (i == 0 ? 1.25 : 0.8);
        records[i].counters = counters;
    }
    const Validation v = validate(records, catalogue(), model::View::calibrated);
    REQUIRE(v.comparisons.size() == 2);
    CHECK(*v.comparisons[0].l2 == Approx(0.8));
    CHECK(*v.comparisons[1].l2 == Approx(1.25));
    CHECK(*v.comparisons[0].flop == Approx(1.0));
    REQUIRE(v.groups.size() == 1);
    CHECK(*v.groups[0].l2_error == Approx(0.225));
    CHECK(v.groups[0].counted == 2);
}

TEST_CASE("padding that the hardware multiplies is not an error of FLOP") {
    std::vector<Record> records =
        records_with_bias(1.0, {"matmul m=100 n=104 k=104 impl=mma dtype=bf16"});
    Counters counters = std::get<Counters>(records[0].counters);
    counters.tensor = 2.0 * 128 * 128 * 128 * units::FLOP;
    records[0].counters = counters;
    const Validation v = validate(records, catalogue(), model::View::calibrated);
    REQUIRE(v.comparisons.size() == 1);
    CHECK(*v.comparisons[0].flop == Approx(1.0));
}

TEST_CASE("FLOP of expressions are not compared") {
    const std::vector<Record> records =
        records_with_bias(1.0, {"elementwise elements=268435456 expr=exp(x) dtype=fp32"});
    const Validation v = validate(records, catalogue(), model::View::calibrated);
    REQUIRE(v.comparisons.size() == 1);
    CHECK_FALSE(v.comparisons[0].flop);
    CHECK(v.comparisons[0].dram);
}

TEST_CASE("small traffic is not compared with counters") {
    const std::vector<Record> records = records_with_bias(1.0, {"copy elements=1048576"});
    const Validation v = validate(records, catalogue(), model::View::calibrated);
    REQUIRE(v.comparisons.size() == 1);
    CHECK_FALSE(v.comparisons[0].dram);
}

TEST_CASE("records that cannot be compared say why") {
    std::vector<Record> records = records_with_bias(
        1.0, {"copy elements=4096", "softmax rows=64 cols=64", "sum rows=64 cols=64"});
    records[0].device.name = "ACME Unheard-of 9000";
    records[1].timing.reset();
    records[1].failure = "too hot";
    const Validation v = validate(records, catalogue(), model::View::calibrated);
    CHECK(v.comparisons.size() == 1);
    REQUIRE(v.unused.size() == 2);
    CHECK(v.unused[0].reason.find("ACME Unheard-of 9000") != std::string::npos);
    CHECK(v.unused[1].reason == "not measured: too hot");
}

TEST_CASE("a failure that was measured later is no longer unused") {
    std::vector<Record> records =
        records_with_bias(1.0, {"copy elements=4096", "copy elements=4096"});
    records[0].timing.reset();
    records[0].failure = "too hot";
    CHECK(validate(records, catalogue(), model::View::calibrated).unused.empty());
}

TEST_CASE("the worst cases are sorted from the worst down") {
    std::vector<Record> records;
    for (const double bias : {1.1, 3.0, 1.5, 0.9, 2.0}) {
        records.push_back(records_with_bias(bias, {"matmul m=4096 n=4096 k=4096"}).front());
    }
    const Validation v = validate(records, catalogue(), model::View::calibrated);
    CHECK(v.groups.front().worst == std::vector<std::size_t>{1, 4, 2});
    CHECK(v.groups.front().errors.median == Approx(1.0 / 3.0).epsilon(1e-3));
}
