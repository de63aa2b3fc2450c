#include "kernel/causes/stall_lines.h"
#include "tests/catch.h"

using namespace ridge::kernel;

namespace {

const std::vector<StallSite>& sampled() {
    static const std::vector<StallSite> sites{
        {.file = "/src/product.cu",
         .line = 42,
         .address = 0x100,
         .samples = {{"long_scoreboard", 50.0}, {"selected", 500.0}}},
        {.file = "/src/product.cu", .line = 42, .address = 0x110, .samples = {{"wait", 10.0}}},
        {.file = "/src/product.cu", .line = 57, .address = 0x200, .samples = {{"barrier", 30.0}}},
        {.file = {}, .line = 0, .address = 0xa40, .samples = {{"barrier", 10.0}}}};
    return sites;
}

}  // namespace

TEST_CASE("samples of a line are added up, without those that issue", "[stalls]") {
    const auto lines = worst_lines(sampled(), 10);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].place == "product.cu:42");
    CHECK(lines[0].share == Approx(0.6));
    CHECK(lines[0].reason == "memory");
    CHECK(lines[0].of_it == Approx(50.0 / 60.0));
    CHECK(lines[1].place == "product.cu:57");
    CHECK(lines[2].place == "+0xa40");
    CHECK(worst_lines(sampled(), 1).size() == 1);
    CHECK(worst_lines({}, 3).empty());
}

TEST_CASE("a cause names the line that has most of its waits", "[stalls]") {
    CHECK(place_of(Cause::barriers, sampled()) == "product.cu:57 has 75 % of these waits");
    CHECK(place_of(Cause::memory_latency, sampled()) == "product.cu:42 has 100 % of these waits");
    CHECK(place_of(Cause::fences, sampled()).empty());
    CHECK(place_of(Cause::launch, sampled()).empty());
}

TEST_CASE("samples stand in for counters of stall reasons", "[stalls]") {
    std::map<std::string, double> metrics;
    add_sampled_reasons(metrics, sampled());
    CHECK(metrics.at("smsp__pcsamp_warps_issue_stalled_barrier") == Approx(40.0));
    CHECK(metrics.at("smsp__pcsamp_warps_issue_stalled_selected") == Approx(500.0));
}
