// Errors over the committed records of an H200: bundled kernels, cuBLASLt and access patterns. What
// judges was drawn after the fits.
#include <string>

#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "model/machine/catalogue.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

measure::Validation validated(const std::string& folder,
                              const hardware::Catalogue& catalogue = model::catalogue()) {
    const auto records = measure::read_all_records({std::string(RIDGE_RECORDS) + "/" + folder});
    REQUIRE(records.damaged.empty());
    return measure::validate(records.records, catalogue, hardware::View::calibrated);
}

}  // namespace

TEST_CASE("random shapes that nothing was fitted to", "[accuracy][records]") {
    const measure::Validation judged = validated("h200-sxm-judge");
    REQUIRE(judged.overall);
    CHECK(judged.unused.empty());
    check_bounds(judged.overall->errors, "records.judge");
    const measure::Validation counted = validated("h200-sxm-counted");
    REQUIRE(counted.overall);
    REQUIRE(counted.overall->dram_error);
    CHECK(100.0 * *counted.overall->dram_error < 5.0);
}

TEST_CASE("random shapes that corrections have seen", "[accuracy][records]") {
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

TEST_CASE("an H100 by the overlay of ridge calibrate --full", "[accuracy][records]") {
    hardware::Catalogue calibrated = model::catalogue();
    for (const char* const name : {"ceilings", "calibrated"}) {
        const std::string file = std::string(RIDGE_RECORDS) + "/h100-sxm/" + name + ".toml";
        CHECK(calibrated.add_file(file) == "h100-sxm");
    }
    const measure::Validation judged = validated("h100-sxm-judge", calibrated);
    REQUIRE(judged.overall);
    CHECK(judged.unused.empty());
    check_bounds(judged.overall->errors, "records.calibrated-judge");
    const measure::Validation fitted = validated("h100-sxm", calibrated);
    REQUIRE(fitted.overall);
    check_bounds(fitted.overall->errors, "records.calibrated");
    const measure::Validation before = validated("h100-sxm-judge");
    REQUIRE(before.overall);
    CHECK(judged.overall->errors.mean < 0.8 * before.overall->errors.mean);
}

}  // namespace ridge::test
