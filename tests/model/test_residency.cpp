// The contents of L2, worked by hand.
#include "model/catalogue/catalogue.h"
#include "model/machine/machine.h"
#include "model/machine/parameters.h"
#include "tests/catch.h"

namespace ridge::model {

constexpr Residency two_partitions{
    .size = 60.0 * units::MB, .partitions = 2.0, .steepness = 10.0, .absorbed = 0.1};

TEST_CASE("copies in several partitions take capacity", "[residency]") {
    // Half of the readers are in the other partition: 1.5 copies on average, 2 if all SMs read.
    CHECK(two_partitions.capacity().in(units::MB) == Approx(40.0));
    CHECK(two_partitions.capacity(Readers::all).in(units::MB) == Approx(30.0));
    Residency whole = two_partitions;
    whole.partitions = 1.0;
    CHECK(whole.capacity() == whole.size);
    CHECK(whole.capacity(Readers::all) == whole.size);
}

TEST_CASE("half is found at the capacity, all well below it and nothing well above",
          "[residency]") {
    CHECK(two_partitions.found(40.0 * units::MB) == Approx(0.5));
    CHECK(two_partitions.found(30.0 * units::MB, Readers::all) == Approx(0.5));
    CHECK(two_partitions.found(20.0 * units::MB) == Approx(1024.0 / 1025.0));
    CHECK(two_partitions.found(80.0 * units::MB) == Approx(1.0 / 1025.0));
    CHECK(two_partitions.holds(30.0 * units::MB));
    CHECK_FALSE(two_partitions.holds(35.0 * units::MB));
    CHECK(Residency{}.found(1.0 * units::B) == 0.0);
}

TEST_CASE("writes that L2 does not absorb reach DRAM", "[residency]") {
    const Bytes write = 6.0 * units::MB;
    const Bytes far = 40.0 * units::MB;
    CHECK(two_partitions.written_back(write, far, L2State::warm).in(units::MB) == Approx(3.0));
    // A tenth of 60 MB absorbs writes: 6 x 6 / (6 + 6).
    CHECK(two_partitions.written_back(write, far, L2State::cold).in(units::MB) == Approx(3.0));
    CHECK(two_partitions.written_back(Bytes{}, far, L2State::cold) == Bytes{});
}

TEST_CASE("a machine and its memory-bound kernels share one L2", "[residency]") {
    Machine machine = make_machine(catalogue().at("h200-sxm"));
    REQUIRE(machine.memory.has_value());
    CHECK(machine.l2.size.in(units::MiB) == Approx(60.0));
    CHECK(machine.l2.partitions == 2.0);
    REQUIRE(find_parameter("model.l2.steepness")->write(machine, 7.0));
    CHECK(machine.l2.steepness == 7.0);
    CHECK(machine.memory->l2.steepness == 7.0);
}

}  // namespace ridge::model
