#include "hardware/schema.h"

#include <set>

#include "hardware/units.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::hardware;

TEST_CASE("every row of the table is complete and found again") {
    std::set<std::string_view> paths;
    for (const Field& field : schema()) {
        CAPTURE(field.path);
        CHECK(paths.insert(field.path).second);
        CHECK(find_field(field.path) == &field);
        CHECK_FALSE(field.meaning.empty());
        CHECK_FALSE(is_section(field.path));
        if (field.kind == ValueKind::quantity) {
            CHECK_NOTHROW(quantity_kind(field.dimension));
            CHECK_FALSE(unit_suffix(field).empty());
        } else {
            CHECK(unit_suffix(field).empty());
        }
    }
}

TEST_CASE("sections are proper beginnings of paths") {
    CHECK(is_section("dram"));
    CHECK(is_section("rate.tensor"));
    CHECK_FALSE(is_section("dra"));
    CHECK_FALSE(is_section("dram.bandwidth"));
    CHECK_FALSE(is_section("nothing"));
    CHECK(find_field("dram") == nullptr);
}

TEST_CASE("a misspelt path finds its field") {
    CHECK(nearest_field("dram.bandwith") == "dram.bandwidth");
    CHECK(nearest_field("rate.tensor.bf17") == "rate.tensor.bf16");
    CHECK(unit_suffix(*find_field("dram.bandwidth")) == "bytes_per_s");
}
