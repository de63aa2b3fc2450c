#include "hardware/checked.h"

#include <limits>

#include "hardware/error.h"
#include "tests/catch.h"

using namespace ridge;

TEST_CASE("a product of shapes is exact up to 2^62") {
    CHECK(checked_product({{"m", 3}, {"n", 5}, {"k", 7}}) == 105);
    CHECK(checked_product({}) == 1);
    CHECK(checked_product({{"m", std::int64_t{1} << 31}, {"n", std::int64_t{1} << 31}}) ==
          std::int64_t{1} << 62);
}

TEST_CASE("a product beyond 2^62 names the fields") {
    CHECK_THROWS_WITH(checked_product({{"m", std::int64_t{1} << 40}, {"n", std::int64_t{1} << 23}}),
                      contains_text("m x n is too large"));
}

TEST_CASE("a factor below one names its field") {
    CHECK_THROWS_WITH(checked_product({{"m", 4}, {"n", 0}}), contains_text("n must be at least 1"));
    CHECK_THROWS_AS(checked_product({{"m", -4}}), InputError);
}

TEST_CASE("ceil_divide rounds up") {
    CHECK(ceil_divide(0, 8) == 0);
    CHECK(ceil_divide(8, 8) == 1);
    CHECK(ceil_divide(9, 8) == 2);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(ceil_divide(most, 1) == most);
    CHECK(ceil_divide(most, std::int64_t{1} << 62) == 2);
    for (std::int64_t b = 1; b <= 260; ++b) {
        for (const std::int64_t times : {1, 2, 7, 1000003}) {
            REQUIRE(ceil_divide(times * b - 1, b) == times - (b == 1 ? 1 : 0));
            REQUIRE(ceil_divide(times * b, b) == times);
            REQUIRE(ceil_divide(times * b + 1, b) == times + 1);
        }
    }
}

TEST_CASE("an input error says where it is, what it is and how to correct it") {
    const InputError error("no such unit", {.file = "a.toml", .line = 3, .column = 7}, "use GB/s");
    CHECK(std::string(error.what()) == "a.toml:3:7: no such unit (use GB/s)");
    CHECK(error.message() == "no such unit");
    CHECK_THROWS_AS(RIDGE_CONTRACT(1 == 2), ContractViolation);
}
