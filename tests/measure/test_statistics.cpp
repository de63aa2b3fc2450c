// Order statistics compared with values worked out by hand, and the interval with brute force.
#include <algorithm>
#include <cmath>
#include <vector>

#include "measure/record/statistics.h"
#include "tests/catch.h"

using namespace ridge::measure;

namespace {

/// Chance that n fair coins show between `low + 1` and `high` heads, by counting all 2^n outcomes.
/// This is the chance that the median lies between the order statistics `low` and `high`, counted
/// from 0.
double covered_by_enumeration(int n, std::int64_t low, std::int64_t high) {
    std::int64_t inside = 0;
    for (std::uint64_t outcome = 0; outcome < (std::uint64_t{1} << n); ++outcome) {
        const int below = __builtin_popcountll(outcome);  // samples below the median
        if (below > low && below <= high) ++inside;
    }
    return static_cast<double>(inside) / std::pow(2.0, n);
}

}  // namespace

TEST_CASE("median, quantiles and drift of known samples") {
    const std::vector<double> values{3.0, 1.0, 2.0, 5.0, 4.0};
    const Statistics s = summarise(values);
    CHECK(s.count == 5);
    CHECK(s.median == 3.0);
    CHECK(s.p5 == Approx(1.2));  // 1 + 0.2 x (2 - 1)
    CHECK(s.p95 == Approx(4.8));
    CHECK(s.low == 1.0);
    CHECK(s.high == 5.0);
    CHECK(s.drift == Approx(4.5 / 2.0 - 1.0));  // medians of {3, 1} and {5, 4}
    CHECK(summarise(std::vector<double>{2.0, 1.0}).median == 1.5);
    CHECK(summarise(std::vector<double>{7.0}).median == 7.0);
    CHECK(summarise(std::vector<double>{7.0}).confidence == 0.0);
}

TEST_CASE("the interval of the median has the tabulated positions") {
    // Standard table of distribution-free 95 % intervals, positions counted from 1: n = 6: 1 to 6,
    // n = 10: 2 to 9, n = 20: 6 to 15, n = 50: 18 to 33.
    const auto positions = [](std::int64_t n) {
        const OrderInterval i = median_interval(n);
        return std::pair(i.low + 1, i.high + 1);
    };
    CHECK(positions(6) == std::pair<std::int64_t, std::int64_t>(1, 6));
    CHECK(positions(10) == std::pair<std::int64_t, std::int64_t>(2, 9));
    CHECK(positions(20) == std::pair<std::int64_t, std::int64_t>(6, 15));
    CHECK(positions(50) == std::pair<std::int64_t, std::int64_t>(18, 33));
}

TEST_CASE("the interval's confidence is exact, and no narrower interval suffices") {
    for (int n = 1; n <= 16; ++n) {
        CAPTURE(n);
        const OrderInterval i = median_interval(n);
        if (n == 1) continue;
        CHECK(i.confidence == Approx(covered_by_enumeration(n, i.low, i.high)).epsilon(1e-12));
        if (n < 6) {
            CHECK(i.confidence < 0.95);
            continue;
        }
        CHECK(i.confidence >= 0.95);
        CHECK(covered_by_enumeration(n, i.low + 1, i.high - 1) < 0.95);
    }
}

TEST_CASE("the interval is right for many samples") {
    const OrderInterval i = median_interval(100'000);
    // Normal approximation: half width 1.96 sqrt(n) / 2 positions.
    CHECK(static_cast<double>(i.high - i.low) == Approx(1.96 * std::sqrt(1e5)).epsilon(0.01));
    CHECK(i.confidence == Approx(0.95).margin(1e-3));
}

TEST_CASE("throttled samples are left out of the times") {
    const std::vector<Sample> samples{{.time = 1.0 * ridge::units::us},
                                      {.time = 9.0 * ridge::units::us, .throttled = true},
                                      {.time = 2.0 * ridge::units::us}};
    const std::vector<double> times = steady_times(samples);
    REQUIRE(times.size() == 2);
    CHECK(times[1] == Approx(2e-6));
}
