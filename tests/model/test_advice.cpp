// Advice comes from predictions, not from fixed texts: it finds the well-known examples, and says
// nothing if nothing helps.
#include "model/advice.h"

#include <set>
#include <string>

#include "model/core/fields.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

using namespace ridge;
using namespace ridge::model;

namespace {

std::vector<Advice> advice_for(const char* text, const char* gpu) {
    const Machine& machine = test::machine(gpu);
    const OperationText parsed = parse_operation(text);
    const Operation op = make_operation(parsed.kind, parsed.parameters);
    const Execution execution = make_execution(parsed.parameters);
    return advise(op, execution, std::get<Prediction>(predict(op, execution, machine)), machine);
}

const Advice* find(const std::vector<Advice>& all, const std::string& change) {
    for (const Advice& advice : all) {
        if (advice.change == change) return &advice;
    }
    return nullptr;
}

}  // namespace

TEST_CASE("a vocabulary of 50257 is padded to 50304") {
    const auto all = advice_for("matmul m=8192 n=50257 k=4096 dtype=bf16", "h200-sxm");
    const Advice* pad = find(all, "pad n from 50257 to 50304");
    REQUIRE(pad != nullptr);
    // An H200 takes 24.5 ms for 50257 columns and 4.83 ms for 50304 (records/h200-sxm).
    CHECK(pad->speed_up == Approx(24.50 / 4.834).epsilon(0.1));
    CHECK(describe(*pad).find("pad n from 50257 to 50304: ") == 0);
}

TEST_CASE("dropping the one row beyond a full wave is advised") {
    // 256 x 128 tiles: 7 x 15 = 105 instead of 8 x 15 = 120 on 108 SMs.
    const auto all =
        advice_for("matmul m=1793 n=1793 k=4096 dtype=bf16 tile=256x128", "a100-sxm-80gb");
    const Advice* trim = find(all, "reduce m from 1793 to 1792");
    REQUIRE(trim != nullptr);
    CHECK(trim->speed_up == Approx(2.0).epsilon(0.05));
}

TEST_CASE("advice is sorted, pays off, and gives the time of the changed operation") {
    const auto all = advice_for("matmul m=4096 n=4095 k=4095 dtype=fp32 impl=naive", "h200-sxm");
    REQUIRE_FALSE(all.empty());
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i].speed_up >= least_speed_up);
        if (i > 0) CHECK(all[i].speed_up <= all[i - 1].speed_up);
    }
    CHECK(find(all, "use the library's kernel") != nullptr);
}

TEST_CASE("tiling a naive transpose and fusing an optimizer's chain of kernels are advised") {
    const auto transposed =
        advice_for("transpose rows=8192 cols=8192 dtype=fp32 impl=naive", "h200-sxm");
    const Advice* tile = find(transposed, "use impl tiled");
    REQUIRE(tile != nullptr);
    // Measured (docs/measuring.md): 978 us naive, 148 us tiled.
    CHECK(tile->speed_up > 4.0);
    const auto stepped = advice_for("adamw elements=16777216 impl=torch", "h200-sxm");
    CHECK(find(stepped, "use impl fused") != nullptr);
}

TEST_CASE("there is no advice if nothing helps") {
    CHECK(advice_for("matmul m=8192 n=8192 k=8192 dtype=fp8", "h200-sxm").empty());
}

TEST_CASE("other operations: fuse, use a smaller type, replay in a graph") {
    const auto unfused = advice_for(
        "elementwise dtype=fp32 expr='sin(x)^2 + cos(x)^2' elements=16777216 impl=unfused",
        "h200-sxm");
    CHECK(find(unfused, "use impl fused") != nullptr);
    CHECK(find(unfused, "store in bf16") != nullptr);
    const auto small = advice_for("matmul m=64 n=64 k=64 launch=stream", "h200-sxm");
    CHECK(find(small, "replay it in a graph") != nullptr);
}

TEST_CASE("kernels that were not measured are not advised instead of measured ones") {
    // On a B200 only flashinfer and standard were measured. The rooflines alone give flash1 a
    // longer time than flashinfer's, and flash2 a shorter one.
    const auto advised_from = [](const std::string& implementation) {
        const std::string call = "attention heads=32 seq=4096 head_dim=128 causal=1 dtype=bf16";
        std::set<std::string> changes;
        for (const Advice& advice : advice_for((call + implementation).c_str(), "b200")) {
            changes.insert(advice.change);
        }
        return changes;
    };
    using Changes = std::set<std::string>;
    CHECK(advised_from("") == Changes{});
    CHECK(advised_from(" impl=standard") == Changes{"use impl flashinfer"});
    CHECK(advised_from(" impl=flash1") == Changes{"use impl flash2", "use impl flashinfer"});
    CHECK(advised_from(" impl=flash2") == Changes{});
}
