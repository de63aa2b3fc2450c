// Errors over the committed records of an H200: bundled kernels, cuBLASLt and access patterns. No
// parameter was chosen with those of random shapes.
#include <string>

#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "model/machine/catalogue.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

measure::Validation validated(const std::string& folder) {
    const auto records = measure::read_all_records({std::string(RIDGE_RECORDS) + "/" + folder});
    REQUIRE(records.damaged.empty());
    return measure::validate(records.records, model::catalogue(), hardware::View::calibrated);
}

}  // namespace

TEST_CASE("random shapes that nothing was fitted to", "[accuracy][records]") {
    const measure::Validation validation = validated("h200-sxm-random");
    REQUIRE(validation.overall);
    CHECK(validation.unused.empty());
    CHECK(validation.groups.size() >= 20);
    check_bounds(validation.overall->errors, "records.random");
    REQUIRE(validation.overall->dram_error);
    CHECK(100.0 * *validation.overall->dram_error < 5.0);
}

TEST_CASE("the full suite", "[accuracy][records]") {
    const measure::Validation validation = validated("h200-sxm");
    REQUIRE(validation.overall);
    CHECK(validation.unused.empty());
    check_bounds(validation.overall->errors, "records.suite");
    for (const measure::GroupSummary& group : validation.groups) {
        INFO(group.operation << ' ' << group.implementation);
        if (group.flop) CHECK(*group.flop == Approx(1.0).epsilon(0.01));
    }
}

}  // namespace ridge::test
