// The reference of a machine: what is taken, what counts as a difference, and that records keep it.
#include <algorithm>
#include <string>

#include "hardware/units.h"
#include "measure/run/measure.h"
#include "measure/run/reference.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"

using namespace ridge;
using namespace ridge::measure;
using ridge::test::catalogue;
using ridge::test::h200_plan;

TEST_CASE("a reference is the empty kernel, the copy and the product of the device") {
    FakePlan plan = h200_plan();
    plan.noise = 0.0;
    FakeDevice device(plan);
    const MachineReference reference = take_reference(device);
    REQUIRE(reference.empty_kernel);
    REQUIRE(reference.copy);
    REQUIRE(reference.product);
    CHECK(reference.empty_kernel->in(units::us) == Approx(plan.machine.kernel_floor.in(units::us)));
    CHECK(*reference.copy < plan.machine.dram_bandwidth);
    CHECK(*reference.copy > 0.5 * plan.machine.dram_bandwidth);
    CHECK(*reference.product < *plan.machine.tensor_peak(model::DataType::bf16));
}

TEST_CASE("only what differs by more than runs on one machine do is a difference") {
    const hardware::Description& gpu = catalogue().at("h200-sxm");
    const auto launch = gpu.quantity<Time>("launch.kernel");
    const auto copy = gpu.quantity<Bandwidth>("measured.dram.copy");
    const auto product = gpu.quantity<FlopRate>("measured.tensor.bf16.burst");
    REQUIRE(launch);
    REQUIRE(copy);
    REQUIRE(product);
    const MachineReference same{
        .empty_kernel = 1.04 * *launch, .copy = 0.97 * *copy, .product = *product};
    CHECK(differences(same, gpu).empty());
    const MachineReference other{.empty_kernel = 1.25 * *launch, .copy = 0.9 * *copy};
    const auto found = differences(other, gpu);
    REQUIRE(found.size() == 2);
    CHECK(found.at(0).path == "launch.kernel");
    CHECK(found.at(0).ratio == Approx(1.25));
    CHECK(found.at(0).here == format(1.25 * *launch));
    CHECK(found.at(0).described == format(*launch));
    CHECK(found.at(1).what == "a copy");
    CHECK(found.at(1).ratio == Approx(0.9));
    // A data sheet has no copy to compare with.
    for (const Difference& each : differences(other, catalogue().at("k80"))) {
        CHECK(each.path == "launch.kernel");
    }
}

TEST_CASE("every record of a run keeps its reference") {
    FakeDevice device(h200_plan());
    MeasureOptions options;
    options.counters.clear();
    options.reference = {.empty_kernel = 1.44 * units::us};
    const auto record =
        measure_one(device, ridge::test::question("copy elements=1048576"), options);
    REQUIRE(record);
    CHECK(record->reference == options.reference);
    CHECK(parse_record(to_json_line(*record)).reference == options.reference);
}
