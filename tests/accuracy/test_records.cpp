// Errors over the committed records of an H200: bundled kernels, cuBLASLt and access patterns. The
// records that judge were drawn after the fits.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "model/catalogue/catalogue.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

std::vector<measure::Record> records_of(std::vector<std::string> folders) {
    for (std::string& folder : folders) folder.insert(0, std::string(RIDGE_RECORDS) + "/");
    auto records = measure::read_all_records(folders);
    REQUIRE(records.damaged.empty());
    return std::move(records.records);
}

measure::Validation validated(const std::string& folder,
                              const model::Catalogue& catalogue = model::catalogue()) {
    return measure::validate(records_of({folder}), catalogue, model::View::calibrated);
}

/// Checks each seed of a judging folder against the bounds `name`-SEED, and all together against
/// `name`.
measure::Validation check_seeds(const std::string& folder, const std::vector<std::uint64_t>& seeds,
                                const std::string& name, const model::Catalogue& catalogue) {
    const std::vector<measure::Record> all = records_of({folder});
    std::size_t count = 0;
    for (const std::uint64_t seed : seeds) {
        std::vector<measure::Record> some;
        for (const measure::Record& record : all) {
            if (record.question.seed == seed) some.push_back(record);
        }
        count += some.size();
        const auto judged = measure::validate(some, catalogue, model::View::calibrated);
        REQUIRE(judged.overall);
        check_bounds(judged.overall->errors, name + "-" + std::to_string(seed));
    }
    CHECK(count == all.size());
    measure::Validation judged = measure::validate(all, catalogue, model::View::calibrated);
    REQUIRE(judged.overall);
    CHECK(judged.unused.empty());
    check_bounds(judged.overall->errors, name);
    return judged;
}

}  // namespace

TEST_CASE("random shapes that nothing was fitted to", "[accuracy][records]") {
    check_seeds("h200-sxm-judge", {315, 317, 319, 321, 322, 334, 501, 502, 503, 504},
                "records.judge", model::catalogue());
    const measure::Validation counted = validated("h200-sxm-counted");
    REQUIRE(counted.overall);
    REQUIRE(counted.overall->dram_error);
    CHECK(100.0 * *counted.overall->dram_error < 5.0);
}

TEST_CASE("random shapes that the corrections have seen", "[accuracy][records]") {
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

TEST_CASE("plain calls of cuBLASLt that nothing was fitted to", "[accuracy][records]") {
    const auto judged =
        measure::validate(records_of({"h200-sxm-calls-judge", "h100-sxm-calls-judge"}),
                          model::catalogue(), model::View::calibrated);
    REQUIRE(judged.overall);
    CHECK(judged.overall->errors.count == 70);
    check_bounds(judged.overall->errors, "records.calls-judge");
}

TEST_CASE("an H100 with the overlay of ridge calibrate --full", "[accuracy][records]") {
    model::Catalogue calibrated = model::catalogue();
    for (const char* const name : {"ceilings", "calibrated"}) {
        const std::string file = std::string(RIDGE_RECORDS) + "/h100-sxm/" + name + ".toml";
        CHECK(calibrated.add_file(file) == "h100-sxm");
    }
    const measure::Validation judged =
        check_seeds("h100-sxm-judge", {316, 318, 320}, "records.calibrated-judge", calibrated);
    const measure::Validation fitted = validated("h100-sxm", calibrated);
    REQUIRE(fitted.overall);
    check_bounds(fitted.overall->errors, "records.calibrated");
    const measure::Validation before = validated("h100-sxm-judge");
    REQUIRE(before.overall);
    CHECK(judged.overall->errors.mean < 0.8 * before.overall->errors.mean);
}

}  // namespace ridge::test
