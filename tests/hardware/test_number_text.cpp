// Numbers as text: the same characters and values as the standard library's functions.
#include "hardware/number_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <random>
#include <string>
#include <string_view>

#include "tests/catch.h"

using namespace ridge;

namespace {

std::string standard(double value) {
    std::array<char, 400> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string standard(double value, std::chars_format format, int decimals) {
    std::array<char, 800> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format, decimals);
    return {text.data(), end.ptr};
}

std::string ours(double value) {
    std::string text;
    append_shortest(text, value);
    return text;
}

/// Every bit pattern is as likely, except that every third value is a short decimal.
double random_double(std::mt19937_64& random) {
    const auto bits = random();
    if (bits % 3 != 0) return std::bit_cast<double>(random());
    const auto digits = static_cast<double>(random() % 10'000'000);
    return std::ldexp(digits, static_cast<int>(random() % 80) - 40) *
           std::pow(10.0, static_cast<int>(random() % 12) - 6);
}

void require_reads_alike(std::string_view text) {
    CAPTURE(std::string(text));
    double value = 0.0;
    const auto expected = std::from_chars(text.data(), text.data() + text.size(), value);
    const RealText read = read_real(text);
    REQUIRE(read.error == expected.ec);
    REQUIRE(read.length == static_cast<std::size_t>(expected.ptr - text.data()));
    if (expected.ec == std::errc{}) {
        REQUIRE(std::bit_cast<std::uint64_t>(read.value) == std::bit_cast<std::uint64_t>(value));
    }
}

}  // namespace

TEST_CASE("doubles are written as std::to_chars writes them") {
    for (const double value : {0.0, -0.0, 1.0, 0.1, -12.5, 1e5, 123456.0, 1e22, 1e21, 9.5e15, 1e-5,
                               1.5e-5, 5e-324, 1.7976931348623157e308, 9007199254740993.0 * 1024}) {
        CAPTURE(value);
        CHECK(ours(value) == standard(value));
    }
    std::mt19937_64 random(20261128);
    for (int i = 0; i < 50'000; ++i) {
        const double value = random_double(random);
        if (!std::isfinite(value)) continue;
        REQUIRE(ours(value) == standard(value));
        const int decimals = static_cast<int>(random() % 18);
        REQUIRE(scientific_text(value, decimals) ==
                standard(value, std::chars_format::scientific, decimals));
        if (std::fabs(value) > 1e30) continue;
        REQUIRE(fixed_text(value, decimals) == standard(value, std::chars_format::fixed, decimals));
    }
}

TEST_CASE("doubles are read as std::from_chars reads them") {
    for (const std::string_view text : {"1",
                                        "0.5",
                                        ".5",
                                        "5.",
                                        "-2e3",
                                        "1e",
                                        "1e+",
                                        "1.5e3 us",
                                        "+1",
                                        " 1",
                                        "",
                                        "-",
                                        ".",
                                        "e5",
                                        "inf",
                                        "nan",
                                        "-infinity",
                                        "1e400",
                                        "-1e400",
                                        "1e-400",
                                        "0e999999",
                                        "0.0",
                                        "123abc",
                                        "0x10",
                                        "1,5",
                                        "00012",
                                        "4.9e-324",
                                        "2e-324",
                                        "179769313486231580793e289"}) {
        require_reads_alike(text);
    }
    constexpr std::string_view letters = "0123456789.eE+-";
    std::mt19937_64 random(20261129);
    for (int i = 0; i < 50'000; ++i) {
        std::string text = standard(random_double(random));
        if (i % 2 == 0) text[random() % text.size()] = letters[random() % letters.size()];
        require_reads_alike(text);
    }
}

TEST_CASE("digits are the shortest, with the exponent of the first") {
    const RealDigits digits = shortest_digits(-0.00125);
    CHECK(digits.negative);
    CHECK(digits.digits() == "125");
    CHECK(digits.exponent == -3);
    CHECK(shortest_digits(1e17).digits() == "1");
    CHECK(shortest_digits(1e17).exponent == 17);
    CHECK(shortest_digits(0.0).digits() == "0");
    CHECK(shortest_digits(0.0).exponent == 0);
    CHECK(shortest_digits(1200.0).digits() == "12");
    CHECK(shortest_digits(1200.0).exponent == 3);
}

TEST_CASE("a whole number ends with its text and is finite") {
    CHECK(whole_real("2.5") == 2.5);
    CHECK_FALSE(whole_real("2.5 "));
    CHECK_FALSE(whole_real("inf"));
    CHECK_FALSE(whole_real(""));
    CHECK_FALSE(whole_real("1e999"));
}
