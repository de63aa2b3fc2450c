// parse(format_exact(x)) == x, bit for bit, for every finite double and every kind of quantity.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "hardware/units.h"
#include "tests/catch.h"

using namespace ridge;

namespace {

constexpr auto dimensions = std::to_array<Dimension>({
    Bytes::dimension,
    Flop::dimension,
    Cycles::dimension,
    Time::dimension,
    Energy::dimension,
    Bandwidth::dimension,
    FlopRate::dimension,
    Frequency::dimension,
    Power::dimension,
    BytesPerCycle::dimension,
    FlopPerCycle::dimension,
    Intensity::dimension,
    dimensionless,
});

bool returns(double value, const Dimension& dimension) {
    const double back = parse_base(format_exact(value, dimension), dimension);
    return std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(value);
}

}  // namespace

TEST_CASE("any bit pattern of a finite double reads back") {
    std::mt19937_64 random(20240601);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable
    for (int i = 0; i < 100000; ++i) {
        const auto value = std::bit_cast<double>(random());
        if (!std::isfinite(value)) continue;
        const Dimension& dimension = dimensions.at(random() % dimensions.size());
        if (!returns(value, dimension)) FAIL(format_exact(value, dimension));
    }
    SUCCEED();
}

TEST_CASE("realistic magnitudes of every kind read back") {
    std::mt19937_64 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable
    std::uniform_real_distribution<double> exponent(-13.0, 19.0);
    for (int i = 0; i < 20000; ++i) {
        const double value = std::pow(10.0, exponent(random));
        for (const Dimension& dimension : dimensions) {
            if (!returns(value, dimension)) FAIL(format_exact(value, dimension));
        }
    }
    SUCCEED();
}

TEST_CASE("extreme values read back") {
    using Limits = std::numeric_limits<double>;
    for (const double value :
         {0.0, -0.0, Limits::denorm_min(), Limits::min(), Limits::max(), Limits::lowest(), 1.0,
          1023.0, 1024.0, 1025.0, 999.9999999999999, 1e3, 1e21, 1e22, 1e23, 9007199254740993.0}) {
        for (const Dimension& dimension : dimensions) {
            CAPTURE(value, format_exact(value, dimension));
            CHECK(returns(value, dimension));
        }
    }
}

TEST_CASE("rounded texts are accurate to their digits") {
    std::mt19937_64 random(11);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable
    std::uniform_real_distribution<double> exponent(-9.0, 15.0);
    for (int i = 0; i < 20000; ++i) {
        const double value = std::pow(10.0, exponent(random));
        const double time = parse_quantity<Time>(format(Time::from_base(value))).base();
        const double rate = parse_quantity<Bandwidth>(format(Bandwidth::from_base(value))).base();
        CHECK(std::fabs(time - value) <= 0.0051 * value);
        if (value >= 1.0) CHECK(std::fabs(rate - value) <= 0.0051 * value);
    }
}
