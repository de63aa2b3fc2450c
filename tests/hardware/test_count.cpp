// Counts and sizes as people write them: exact values, and texts that are refused.
#include "hardware/count.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hardware/error.h"
#include "tests/catch.h"

using namespace ridge;

TEST_CASE("counts may be written with separators, exponents and prefixes") {
    const std::vector<std::pair<std::string, std::int64_t>> texts{
        {"4096", 4096},
        {" 0 ", 0},
        {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
        {"4_096", 4096},
        {"1_000_000", 1'000'000},
        {"1e5", 100'000},
        {"1.5e3", 1500},
        {"2E+2", 200},
        {"1200e-2", 12},
        {"128k", 128'000},
        {"128K", 128'000},
        {"128Ki", 131'072},
        {"128ki", 131'072},
        {"1.5Ki", 1536},
        {"0.50k", 500},
        {"16M", 16'000'000},
        {"16Mi", 16'777'216},
        {"16 Mi", 16'777'216},
        {"1.0", 1},
        {"80G", 80'000'000'000},
        {"7Ti", 7'696'581'394'432}};
    for (const auto& [text, value] : texts) {
        CAPTURE(text);
        CHECK(parse_count(text, "m") == value);
        REQUIRE(read_count(text));
        CHECK(read_count(text)->value == value);
    }
}

TEST_CASE("sizes may name bytes, counts may not") {
    CHECK(parse_count("8MB", "bytes", CountUnit::bytes) == 8'000'000);
    CHECK(parse_count("8 MiB", "bytes", CountUnit::bytes) == 8'388'608);
    CHECK(parse_count("80gb", "bytes", CountUnit::bytes) == 80'000'000'000);
    CHECK(parse_count("512B", "bytes", CountUnit::bytes) == 512);
    CHECK_THROWS_WITH(parse_count("8MB", "m"),
                      "m: \"8MB\" is a number of bytes, but a count is expected");
    CHECK_FALSE(read_count("8MB"));
}

TEST_CASE("a decimal prefix alone is reported, because many people mean the binary one") {
    for (const char* text : {"128k", "1.5M", "80G", "1T"}) CHECK(read_count(text)->decimal);
    for (const char* text : {"128Ki", "1e5", "4096", "4_096"})
        CHECK_FALSE(read_count(text)->decimal);
    CHECK_FALSE(read_count("80GB", CountUnit::bytes)->decimal);
}

TEST_CASE("what is not a whole number in range is refused with an example") {
    for (const std::string text :
         {"-1",   "1.5",   "",     "four",  "_1", "1_", "1__0", "1.",    ".5",      "1e",
          "1e-1", "1.5k5", "0x10", "1e999", "k",  "Ki", "1 2",  "1,000", "1.0001k", "+4"}) {
        CAPTURE(text);
        CHECK_FALSE(read_count(text));
        CHECK_THROWS_AS(parse_count(text, "seq"), InputError);
    }
    CHECK_THROWS_WITH(parse_count("1.5", "seq"),
                      "seq: \"1.5\" is not a whole number of 0 or more "
                      "(write 4096, 4_096, 4Ki, 16M or 1e5)");
    for (const std::string text :
         {"9223372036854775808", "9223372036854775807k", "1e19", "8388608Ti"}) {
        CAPTURE(text);
        CHECK_FALSE(read_count(text));
        CHECK_THROWS_WITH(parse_count(text, "m"), "m: \"" + text + "\" is too large for a count");
    }
}
