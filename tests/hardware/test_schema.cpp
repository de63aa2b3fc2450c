#include "hardware/schema.h"

#include <set>

#include "hardware/error.h"
#include "hardware/units.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::hardware;

TEST_CASE("every row of the table is complete and can be found") {
    const Schema& schema = device_schema();
    std::set<std::string_view> paths;
    for (const Field& field : schema.fields()) {
        CAPTURE(field.path);
        CHECK(paths.insert(field.path).second);
        CHECK(schema.find(field.path) == &field);
        CHECK_FALSE(field.meaning.empty());
        CHECK_FALSE(device_schema().is_section(field.path));
        if (field.kind == ValueKind::quantity) {
            CHECK_NOTHROW(quantity_kind(field.dimension));
            CHECK_FALSE(unit_suffix(field).empty());
        } else {
            CHECK(unit_suffix(field).empty());
        }
    }
}

TEST_CASE("sections are proper prefixes of paths") {
    CHECK(device_schema().is_section("dram"));
    CHECK(device_schema().is_section("rate.tensor"));
    CHECK_FALSE(device_schema().is_section("dra"));
    CHECK_FALSE(device_schema().is_section("dram.bandwidth"));
    CHECK_FALSE(device_schema().is_section("nothing"));
    CHECK(device_schema().find("dram") == nullptr);
}

TEST_CASE("a misspelt path finds its field") {
    CHECK(device_schema().nearest("dram.bandwith") == "dram.bandwidth");
    CHECK(device_schema().nearest("rate.tensor.bf17") == "rate.tensor.bf16");
    CHECK(unit_suffix(*device_schema().find("dram.bandwidth")) == "bytes_per_s");
}

TEST_CASE("a model's fields extend the schema") {
    const Schema grown = device_schema().with({{.path = "model.streams.start",
                                                .dimension = Time::dimension,
                                                .meaning = "fixed time",
                                                .range = {1e-9, 1e-3}}});
    CHECK(grown.fields().size() == device_schema().fields().size() + 1);
    REQUIRE(grown.find("model.streams.start") != nullptr);
    CHECK(range_text(*grown.find("model.streams.start")) == "1 ns to 1 ms");
    CHECK(grown.is_section("model"));
    CHECK_FALSE(device_schema().is_section("model"));
    CHECK(grown.nearest("model.stream.start") == "model.streams.start");
    CHECK(meaning_of(*grown.find("model.streams.start")) == "fixed time");
    CHECK(meaning_of({.path = "a.b", .title = "launches", .meaning = "gap"}) == "launches: gap");
    CHECK_THROWS_AS(grown.with({{.path = "sm.count", .meaning = "twice"}}), ContractViolation);
}
