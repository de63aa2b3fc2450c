// Slices and power limits of GPUs: which names are variants, and what their descriptions say.
#include <string>

#include "hardware/error.h"
#include "hardware/variant.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

model::Machine variant_machine(const std::string& name) {
    model::Catalogue catalogue = model::catalogue();
    const auto variant = hardware::parse_variant(name);
    REQUIRE(variant);
    const hardware::Description base = catalogue.at(variant->base);
    catalogue.add_text(variant_toml(base, *variant), name);
    return model::make_machine(catalogue.at(name));
}

std::string refusal(const std::string& name) {
    try {
        static_cast<void>(variant_machine(name));
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

Time time_of_copy(const model::Machine& machine) {
    const auto outcome = predict(model::Copy{.elements = std::int64_t{1} << 28}, {}, machine);
    return std::get<model::Prediction>(outcome).time;
}

Time time_of_product(const model::Machine& machine) {
    const auto outcome = predict(model::Matmul{.m = 8192, .n = 8192, .k = 8192}, {}, machine);
    return std::get<model::Prediction>(outcome).time;
}

}  // namespace

TEST_CASE("only names with a slice or a limit are variants") {
    CHECK_FALSE(hardware::parse_variant("h100-sxm"));
    CHECK_FALSE(hardware::parse_variant("NVIDIA H100 80GB HBM3"));
    CHECK(hardware::parse_variant("h100@500W")->limit == 500.0 * units::W);
    CHECK(hardware::parse_variant("h100:1g.10gb")->slice == "1g.10gb");
    const auto both = hardware::parse_variant("h100:3g.40gb@300W");
    CHECK(both->base == "h100");
    CHECK(both->slice == "3g.40gb");
    CHECK(both->limit == 300.0 * units::W);
}

TEST_CASE("a slice has its part of the GPU") {
    const model::Machine whole = model::make_machine(model::catalogue().at("h100-sxm"));
    const model::Machine slice = variant_machine("h100:1g.10gb");
    CHECK(slice.sm_count == 16);
    CHECK(slice.dram_capacity == whole.dram_capacity / 8.0);
    CHECK(slice.dram_bandwidth.base() == Approx(whole.dram_bandwidth.base() / 8.0));
    const double longer = time_of_copy(slice) / time_of_copy(whole);
    CHECK(longer > 6.0);
    CHECK(longer < 10.0);
    CHECK(time_of_product(slice) / time_of_product(whole) > 5.0);
    CHECK(variant_machine("a100-sxm-80gb:3g.40gb").sm_count == 42);
}

TEST_CASE("less power never makes a product faster, and a copy not slower") {
    const model::Machine full = variant_machine("h100@700W");
    Time before = time_of_product(full);
    for (const char* name : {"h100@600W", "h100@500W", "h100@350W"}) {
        const model::Machine limited = variant_machine(name);
        const Time now = time_of_product(limited);
        CHECK(now >= before);
        CHECK(time_of_copy(limited).base() == Approx(time_of_copy(full).base()).epsilon(0.02));
        before = now;
    }
    CHECK(before > 1.2 * time_of_product(full));
}

TEST_CASE("impossible variants are refused") {
    CHECK(refusal("h100:1g").find("not a MIG slice") != std::string::npos);
    CHECK(refusal("h100:9g.10gb").find("it has 1g, 2g, 3g, 4g, 7g") != std::string::npos);
    CHECK(refusal("h100:1g.160gb").find("has no 160gb") != std::string::npos);
    CHECK(refusal("l4:1g.10gb").find("no MIG slices") != std::string::npos);
    CHECK(refusal("h100@900W").find("the limit must be") != std::string::npos);
    CHECK(refusal("h100@fast").size() > 0);
}

}  // namespace ridge::test
