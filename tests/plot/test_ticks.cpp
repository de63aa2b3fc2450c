#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "plot/ticks.h"
#include "tests/catch.h"

using namespace ridge::plot;

namespace {

std::vector<std::string> texts(const Range& range, Scale scale, int most) {
    std::vector<std::string> out;
    for (const Tick& tick : ticks(range, scale, most)) {
        if (!tick.text.empty()) out.push_back(tick.text);
    }
    return out;
}

}  // namespace

TEST_CASE("linear ticks step by 1, 2 or 5", "[ticks]") {
    CHECK(texts({.low = 0, .high = 10}, Scale::linear, 6) ==
          std::vector<std::string>{"0", "2", "4", "6", "8", "10"});
    CHECK(texts({.low = 0, .high = 0.4}, Scale::linear, 5) ==
          std::vector<std::string>{"0", "0.1", "0.2", "0.3", "0.4"});
    CHECK(texts({.low = -5, .high = 5}, Scale::linear, 3) ==
          std::vector<std::string>{"-5", "0", "5"});
}

TEST_CASE("logarithmic ticks are 1-2-5 if they fit, else decades", "[ticks]") {
    CHECK(texts({.low = 1, .high = 100}, Scale::log, 8) ==
          std::vector<std::string>{"1", "2", "5", "10", "20", "50", "100"});
    CHECK(texts({.low = 1, .high = 100}, Scale::log, 4) ==
          std::vector<std::string>{"1", "10", "100"});
    const auto all = ticks({.low = 1, .high = 100}, Scale::log, 4);
    CHECK(all.size() == 7);
    CHECK(std::count_if(all.begin(), all.end(), [](const Tick& t) { return t.decade; }) == 3);
    CHECK(texts({.low = 1e4, .high = 1e6}, Scale::log, 4) ==
          std::vector<std::string>{"10000", "100000", "10⁶"});
}

TEST_CASE("any range gets between one and the allowed number of labels, inside the range",
          "[ticks][property]") {
    for (const Scale scale : {Scale::linear, Scale::log}) {
        for (int exponent = -110; exponent < 100; exponent += 4) {
            const double low = 1.7321 * std::pow(10.0, exponent);
            for (const double factor : {1.001, 1.3, 4.0, 90.0, 1e5, 1e18}) {
                for (const int most : {2, 3, 8, 20}) {
                    const Range range = {.low = low, .high = low * factor};
                    const auto marks = ticks(range, scale, most);
                    int labels = 0;
                    for (const Tick& tick : marks) {
                        labels += tick.text.empty() ? 0 : 1;
                        CHECK(position(tick.value, range, scale) > -1e-6);
                        CHECK(position(tick.value, range, scale) < 1.0 + 1e-6);
                    }
                    INFO(low << " x " << factor << " most " << most);
                    CHECK(labels >= 1);
                    CHECK(labels <= most);
                }
            }
        }
    }
}

TEST_CASE("ranges round outwards", "[ticks]") {
    const Range log = rounded_out({.low = 0.3, .high = 733}, Scale::log);
    CHECK(log.low == Approx(0.2));
    CHECK(log.high == Approx(1000));
    const Range one = rounded_out({.low = 5, .high = 5}, Scale::log);
    CHECK(one.low < 5);
    CHECK(one.high > 5);
    const Range zero = rounded_out({.low = 0, .high = 0}, Scale::linear);
    CHECK(zero.low < zero.high);
}

TEST_CASE("axes reject invalid limits", "[ticks]") {
    const Range automatic = {.low = 1, .high = 10};
    CHECK_THROWS_AS(resolved({.title = "x", .scale = Scale::log, .low = 0.0}, automatic),
                    ridge::InputError);
    CHECK_THROWS_AS(resolved({.title = "x", .low = 5.0, .high = 5.0}, automatic),
                    ridge::InputError);
    CHECK(resolved({.title = "x", .low = 20.0}, automatic).high > 20.0);
    CHECK_FALSE(drawable(-1.0, Scale::log));
    CHECK_FALSE(drawable(0.0, Scale::log));
    CHECK(drawable(-1.0, Scale::linear));
    CHECK_FALSE(drawable(1e200, Scale::linear));
}

TEST_CASE("an axis whose values double has its ticks at these values", "[ticks]") {
    CHECK(doubling_of({1024, 4096, 131072, 2048}) == std::optional(1024.0));
    CHECK(doubling_of({3, 6, 96}) == std::optional(3.0));
    CHECK_FALSE(doubling_of({1, 10, 100}).has_value());
    CHECK_FALSE(doubling_of({512, 1024}).has_value());
    CHECK_FALSE(doubling_of({-2, 4, 8}).has_value());
    CHECK_FALSE(doubling_of({}).has_value());

    const Axis axis{.title = "seq", .scale = Scale::log, .doubling = 1024.0};
    const Range range{.low = 900, .high = 4.0 * 1048576 * 1.1};
    const auto labels = [&](int most) {
        std::vector<std::string> out;
        for (const Tick& tick : axis_ticks(axis, range, most)) {
            if (!tick.text.empty()) out.push_back(tick.text);
        }
        return out;
    };
    CHECK(labels(20).size() == 13);
    CHECK(labels(20).front() == "1024");
    CHECK(labels(20).back() == "4Mi");
    CHECK(labels(4) == std::vector<std::string>{"1024", "16384", "262144", "4Mi"});
    CHECK(axis_ticks(axis, range, 4).size() == 13);
    // When zoomed in between two of these values, the axis has evenly spaced ticks.
    CHECK(axis_ticks(axis, {.low = 1100, .high = 1900}, 5).size() > 2);
}
