#include "hardware/listing.h"

#include <nlohmann/json.hpp>

#include "hardware/catalogue.h"
#include "hardware/schema.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::hardware;

TEST_CASE("every number is listed with its source") {
    const Catalogue catalogue = Catalogue::embedded(device_schema());
    const Description& gpu = catalogue.at("h200-sxm", Overlays::left_out);
    const std::vector<ListedField> rows = list_fields(gpu, device_schema());
    CHECK(rows.size() == gpu.data.size());
    for (const ListedField& row : rows) {
        CAPTURE(row.path);
        CHECK_FALSE(row.source_texts.empty());
        CHECK(row.source_texts.size() == row.source_keys.size());
        CHECK_FALSE(row.provenance.empty());
        CHECK_FALSE(row.place.empty());
    }
    const auto bus = std::find_if(rows.begin(), rows.end(), [](const ListedField& row) {
        return row.path == "dram.bus_width";
    });
    REQUIRE(bus != rows.end());
    CHECK(bus->value == "6016");
    CHECK(bus->provenance == "measured");
    REQUIRE(bus->disputes.size() == 1);
    CHECK(bus->disputes[0].value == "6144");
}

TEST_CASE("JSON keys carry the unit") {
    const Catalogue catalogue = Catalogue::embedded(device_schema());
    const nlohmann::json json = nlohmann::json::parse(
        to_json(catalogue.at("a100-sxm-80gb", Overlays::left_out), device_schema()));
    CHECK(json["name"] == "a100-sxm-80gb");
    const nlohmann::json& fields = json["fields"];
    CHECK(fields["dram.bandwidth_bytes_per_s"]["value"] == 2039000000000);
    CHECK(fields["sm.count"]["value"] == 108);
    CHECK(fields["rate.tensor.bf16_flop_per_clk"]["value"] == 2048);
    CHECK(fields["launch.graph_s"]["value"] == Approx(1.34e-6));
    for (const auto& [key, field] : fields.items()) {
        CAPTURE(key);
        for (const auto& source : field["sources"]) {
            CHECK(json["sources"].contains(source.get<std::string>()));
        }
    }
}
