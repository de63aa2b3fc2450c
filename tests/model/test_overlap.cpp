// Limits of the rule that combines terms.
#include "model/roof/overlap.h"

#include <cmath>

#include "model/core/power.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

TEST_CASE("one term alone is the result", "[combine]") {
    const Time t = 12.5 * units::us;
    CHECK(combined({t, Time{}, Time{}}, pipes).base() == Approx(t.base()).epsilon(1e-12));
    CHECK(combined({Time{}, t}, bytes_in_flight).base() == Approx(t.base()).epsilon(1e-12));
    CHECK(combined({Time{}, Time{}}, pipes) == Time{});
}

TEST_CASE("a dominant term hides the others", "[combine]") {
    // A tenth of the largest adds 10^-5 / 5 of it between pipes, 10^-2.2 / 2.2 against latency.
    const Time large = 100.0 * units::us;
    const Time small = 10.0 * units::us;
    CHECK(combined({large, small}, pipes) / large == Approx(1.0 + 2e-6).epsilon(1e-7));
    CHECK(combined({large, small}, bytes_in_flight) / large ==
          Approx(1.0 + 0.0063096 / 2.2).epsilon(1e-5));
}

TEST_CASE("equal terms", "[combine]") {
    // 2^(1/5) = 1.1487, 2^(1/2.2) = 1.3703, 2 without overlap.
    const Time t = 3.0 * units::us;
    CHECK(combined({t, t}, pipes) / t == Approx(1.148698).epsilon(1e-6));
    CHECK(combined({t, t}, bytes_in_flight) / t == Approx(1.370350).epsilon(1e-6));
    CHECK(combined({t, t}, Overlap{1.0}) / t == Approx(2.0).epsilon(1e-12));
}

TEST_CASE("power agrees with std::pow", "[combine]") {
    for (const double exponent : {0.0, 1.0, 2.0, 2.2, 5.0, 6.552, 10.0, 64.0, 65.0, -3.0}) {
        for (const double base : {1e-4, 0.37, 1.0, 1.9, 40.0}) {
            CAPTURE(base, exponent);
            CHECK(power(base, exponent) == Approx(std::pow(base, exponent)).epsilon(1e-14));
        }
    }
    CHECK(power(0.0, 10.0) == 0.0);
}

TEST_CASE("a longer term never shortens the result", "[combine]") {
    for (const Overlap overlap : {Overlap{1.0}, bytes_in_flight, pipes}) {
        Time last{};
        for (int i = 0; i < 60; ++i) {
            const Time term = static_cast<double>(i) * 0.1 * units::us;
            const Time result = combined({term, 2.0 * units::us, 1.0 * units::us}, overlap);
            CHECK(result >= last);
            CHECK(result >= std::max(term, 2.0 * units::us));
            CHECK(result <= (term + 3.0 * units::us) * (1.0 + 1e-12));
            last = result;
        }
    }
}

}  // namespace
}  // namespace ridge::model
