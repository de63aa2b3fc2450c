#include <type_traits>

#include "hardware/quantity.h"
#include "tests/catch.h"

using namespace ridge;

static_assert(std::is_same_v<decltype(Bytes() / Bandwidth()), Time>);
static_assert(std::is_same_v<decltype(Flop() / FlopRate()), Time>);
static_assert(std::is_same_v<decltype(Flop() / Bytes()), Intensity>);
static_assert(std::is_same_v<decltype(FlopRate() / Bandwidth()), Intensity>);
static_assert(std::is_same_v<decltype(FlopPerCycle() * Frequency()), FlopRate>);
static_assert(std::is_same_v<decltype(BytesPerCycle() * Frequency()), Bandwidth>);
static_assert(std::is_same_v<decltype(Cycles() / Frequency()), Time>);
static_assert(std::is_same_v<decltype(Power() * Time()), Energy>);
static_assert(std::is_same_v<decltype(1.0 / Time() * Bytes()), Bandwidth>);
static_assert(sizeof(Bytes) == sizeof(double));

static_assert((1.0 * units::GiB).in(units::MiB) == 1024.0);
static_assert((1.0 * units::GB).base() == 1e9);
static_assert(2.0 * units::ms > 1.0 * units::us);
static_assert(1.0 * units::KiB + 1.0 * units::KiB == 2.0 * units::KiB);
static_assert(double(Bytes::from_base(6.0) / Bytes::from_base(3.0)) == 2.0);

TEST_CASE("an A100 moves 2 GiB in about a millisecond") {
    const Bandwidth bandwidth = 2039.0 * units::GB / units::s;
    const Time time = (2.0 * units::GiB) / bandwidth;
    CHECK(time.in(units::ms) == Approx(1.0532).epsilon(1e-4));
}

TEST_CASE("compound assignment keeps the unit") {
    Bytes total = 1.0 * units::MiB;
    total += 3.0 * units::MiB;
    total -= 2.0 * units::MiB;
    total *= 4.0;
    CHECK(total == 8.0 * units::MiB);
}
