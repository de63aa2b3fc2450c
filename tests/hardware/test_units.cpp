#include "hardware/units.h"

#include <limits>

#include "hardware/error.h"
#include "tests/catch.h"

using namespace ridge;

TEST_CASE("quantities are read with their prefixes") {
    CHECK(parse_quantity<Bandwidth>("4.8 TB/s").base() == 4.8e12);
    CHECK(parse_quantity<Bandwidth>("2 TB / s").base() == 2e12);
    CHECK(parse_quantity<Bandwidth>("1B/us").base() == 1e6);
    CHECK(parse_quantity<Frequency>("1830 MHz").base() == 1.83e9);
    CHECK(parse_quantity<Frequency>("19.5 GT/s").base() == 1.95e10);
    CHECK(parse_quantity<BytesPerCycle>("128 B/clk").base() == 128.0);
    CHECK(parse_quantity<FlopPerCycle>("512 FLOP/cycle").base() == 512.0);
    CHECK(parse_quantity<FlopRate>("1978.9 TOP/s").base() == 1978.9e12);
    CHECK(parse_quantity<Bytes>("60 MiB") == 60.0 * units::MiB);
    CHECK(parse_quantity<Bytes>("80GiB") == 80.0 * units::GiB);
    CHECK(parse_quantity<Bytes>("80 GB").base() == 80e9);
    CHECK(parse_quantity<Time>("2.5 us").base() == 2.5e-6);
    CHECK(parse_quantity<Time>("2.5 \xC2\xB5s").base() == 2.5e-6);
    CHECK(parse_quantity<Time>("25e-7 s").base() == 2.5e-6);
    CHECK(parse_quantity<Power>("700 W").base() == 700.0);
    CHECK(parse_quantity<Power>("3 J/s").base() == 3.0);
    CHECK(parse_quantity<Cycles>("281 clk").base() == 281.0);
    CHECK(parse_quantity<Intensity>("153 FLOP/B").base() == 153.0);
    CHECK(parse_quantity<Bytes>("1EB").base() == 1e18);
}

TEST_CASE("a text is rounded once") {
    CHECK(parse_quantity<Bandwidth>("2.039 TB/s").base() == 2.039e12);
    CHECK(parse_quantity<Time>("0.577 us").base() == 0.577e-6);
    CHECK(parse_quantity<Time>("577 ns").base() == 577e-9);
}

TEST_CASE("another kind of quantity is refused by name") {
    CHECK_THROWS_WITH(parse_quantity<Bytes>("80 GB/s"),
                      "\"80 GB/s\" is a bandwidth, expected a capacity such as \"80 GiB\"");
    CHECK_THROWS_WITH(parse_quantity<Bandwidth>("2039"),
                      contains_text("has no unit") && contains_text("\"2039 GB/s\""));
    CHECK_THROWS_WITH(parse_quantity<Time>("5 B/Hz"), contains_text("has a different unit"));
}

TEST_CASE("an unknown unit gets a suggestion") {
    CHECK_THROWS_WITH(
        parse_quantity<Bandwidth>("4.8 TB/sec"),
        contains_text("unknown unit \"TB/sec\"") && contains_text("did you mean \"TB/s\"?"));
    CHECK_THROWS_WITH(parse_quantity<Bytes>("80 gb"), contains_text("did you mean \"GB\"?"));
    CHECK_THROWS_WITH(parse_quantity<FlopRate>("312 TFLOPS"), contains_text("unknown unit"));
    CHECK_THROWS_AS(parse_quantity<Bandwidth>("1 GiB/s/s"), InputError);
}

TEST_CASE("invalid text is refused") {
    for (const std::string text :
         {"", " ", "GB", "-", ".", "1.", ".5 s", "1..2 s", "nan s", "inf s", "0x10 s", "1e999 s",
          "1e-999 s", "1e99999999999 s", "1e+-5 s", "1,5 s", "s 1"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_quantity<Time>(text), InputError);
    }
    CHECK_THROWS_AS(parse_quantity<Time>(std::string(100000, '1')), InputError);
    CHECK_THROWS_AS(parse_quantity<Time>(std::string("1\0 s", 4)), InputError);
}

TEST_CASE("numbers have no unit") {
    CHECK(parse_number("-1.5e3", "x") == -1500.0);
    CHECK_THROWS_AS(parse_number("1 s", "x"), InputError);
    CHECK_THROWS_AS(parse_number("1e400", "x"), InputError);
}

TEST_CASE("exact texts are also readable") {
    CHECK(format_exact(80.0 * units::GiB) == "80 GiB");
    CHECK(format_exact(80.0 * units::GB) == "80 GB");
    CHECK(format_exact(4.8 * units::TB / units::s) == "4.8 TB/s");
    CHECK(format_exact(1830.0 * units::MHz) == "1.83 GHz");
    CHECK(format_exact(577.0 * units::ns) == "577 ns");
    CHECK(format_exact(Bytes()) == "0 B");
    CHECK(format_exact(512.0 * units::FLOP / units::cycle) == "512 FLOP/clk");
    CHECK(format_exact(1e30 * units::B) == "1e30 B");
    CHECK(format_exact(0.25, dimensionless) == "0.25");
}

TEST_CASE("rounded texts have three or four digits") {
    CHECK(format(2039.0 * units::GB / units::s) == "2.04 TB/s");
    CHECK(format(2039.0 * units::GB / units::s, 4) == "2.039 TB/s");
    CHECK(format(999.96 * units::GB / units::s) == "1 TB/s");
    CHECK(format(0.0 * units::GB / units::s) == "0 B/s");
    CHECK(format(1978.9 * units::TFLOP / units::s) == "1979 TFLOP/s");
    CHECK(format(12.345 * units::us) == "12.3 us");
    CHECK(format(0.9999 * units::ms) == "1 ms");
    CHECK(format(1230.0 * units::ms) == "1.23 s");
    CHECK(format(1830.0 * units::MHz) == "1830 MHz");
    CHECK(format_capacity(139.8 * units::GiB) == "139.8 GiB");
    CHECK(format_capacity(1024.0 * units::MiB) == "1 GiB");
    CHECK(format_capacity(227.0 * units::KiB) == "227 KiB");
    CHECK(format_traffic(40.3 * units::GB) == "40.3 GB");
    CHECK(format(137.4 * units::GFLOP) == "137 GFLOP");
    CHECK(format(153.016 * units::FLOP / units::B) == "153 FLOP/B");
    CHECK(format_number(0.000123456) == "0.000123");
    CHECK(format_number(-1234567.0) == "-1234567");
}

TEST_CASE("a dimension without a unit violates the contract") {
    CHECK_THROWS_AS(quantity_kind(Dimension{.byte = 3}), ContractViolation);
    CHECK_THROWS_AS(format_exact(std::numeric_limits<double>::infinity(), dimensionless),
                    ContractViolation);
}
