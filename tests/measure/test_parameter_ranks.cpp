// Parameters ranked by what they do to the errors of records: those of the kernels that ran, and no others.
#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "measure/judge/parameter_ranks.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"

namespace ridge::measure {
namespace {

std::vector<Record> products() {
    FakePlan plan = test::h200_plan();
    plan.bias = 1.1;
    plan.noise = 0.0;
    FakeDevice device(plan);
    std::vector<Record> records;
    for (const char* const size : {"512", "1024", "2048", "4096"}) {
        for (const char* const k : {"64", "512", "4096"}) {
            const std::string n(size);
            records.push_back(*measure_one(
                device,
                test::question("matmul m=" + n + " n=" + n + " k=" + k + " impl=mma dtype=bf16"),
                {}));
        }
    }
    return records;
}

}  // namespace

TEST_CASE("parameters are ranked by what they do to the errors of records", "[ranks]") {
    const std::vector<Record> records = products();
    const model::Machine machine = test::catalogue().machine("h200-sxm");
    const Validation validation = validate(records, test::catalogue(), model::View::calibrated);
    REQUIRE(validation.comparisons.size() == records.size());
    const ParameterRanks found = rank_parameters(records, validation, machine);
    REQUIRE(found.ranks.size() > 100);
    const ParameterRank& first = found.ranks.front();
    CAPTURE(first.parameter->field.path);
    CHECK(first.parameter->field.path.starts_with("model.matmul.mma."));
    CHECK(first.points > 0.01);
    CHECK(first.moved == "matmul mma");
    CHECK(std::isfinite(first.standard_error));
    CHECK(first.like != nullptr);
    CHECK(first.like != first.parameter);
    CHECK(std::abs(first.cosine) <= 1.0 + 1e-9);
    CHECK(std::is_sorted(
        found.ranks.begin(), found.ranks.end(),
        [](const ParameterRank& a, const ParameterRank& b) { return a.points > b.points; }));
    // What other kernels have changes nothing here, and these rows do not determine it.
    const auto other = std::find_if(found.ranks.begin(), found.ranks.end(), [](const auto& each) {
        return each.parameter->field.path == "model.attention.mma.start";
    });
    REQUIRE(other != found.ranks.end());
    CHECK(other->points == 0.0);
    CHECK(other->moved.empty());
    CHECK(std::isinf(other->standard_error));
    CHECK(found.idle > 100);
    CHECK(found.most < 20);
    CHECK(found.most > 0);
}

TEST_CASE("parameters are ranked for one GPU", "[ranks]") {
    const std::vector<Record> records = products();
    const Validation validation = validate(records, test::catalogue(), model::View::calibrated);
    const model::Machine other = test::catalogue().machine("h100-sxm");
    CHECK_THROWS_AS(rank_parameters(records, validation, other), InputError);
    CHECK_THROWS_AS(rank_parameters({}, Validation{}, other), InputError);
}

}  // namespace ridge::measure
