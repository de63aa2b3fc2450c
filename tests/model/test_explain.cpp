// Explanations of hand-made predictions: each sentence states the figures of the prediction.
#include "model/explain.h"

#include <set>
#include <string>

#include "model/roof/band.h"
#include "model/roof/roofline.h"
#include "tests/catch.h"
#include "tests/support/text.h"

namespace ridge::model {
namespace {

Machine machine_of() {
    Machine machine;
    machine.name = "round";
    machine.sm_count = 108;
    machine.tensor[static_cast<std::size_t>(DataType::bf16)] = 100.0 * units::TFLOP / units::s;
    machine.dram_bandwidth = 1.0 * units::TB / units::s;
    return machine;
}

/// 2 TFLOP and 1 GB on a machine whose ridge point is 100 FLOP/B.
Prediction prediction_of() {
    Work work;
    work.tensor = 2.0 * units::TFLOP;
    work.compulsory_read = 1.0 * units::GB;
    work.dram_read = work.compulsory_read;
    const Machine machine = machine_of();
    Prediction prediction = roofline(work, roofs_of(machine, DataType::bf16), machine);
    settle_intensities(prediction);
    settle_limiter(prediction);
    return prediction;
}

std::string all_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

bool mentions(const std::string& text, std::string_view part) {
    UNSCOPED_INFO(text);
    return test::holds(text, part);
}

TEST_CASE("an explanation names bound, limiter, intensity, ridge point and lower bound",
          "[explain]") {
    const std::string text =
        all_of(explain(Matmul{.m = 1, .n = 1, .k = 1}, prediction_of(), machine_of()));
    CHECK(mentions(text, "matmul is limited by tensor cores"));
    CHECK(mentions(text, "2000 FLOP/B"));
    CHECK(mentions(text, "above the ridge point of 100 FLOP/B"));
    CHECK(mentions(text, "compute-bound"));
    CHECK(mentions(text, "100 TFLOP/s"));
    CHECK(mentions(text, "20 ms"));
}

TEST_CASE("an operation below the ridge point is explained as memory-bound", "[explain]") {
    Prediction prediction = prediction_of();
    prediction.algorithmic = 20.0 * units::FLOP / units::B;
    const std::string text = all_of(explain(Copy{.elements = 1}, prediction, machine_of()));
    CHECK(mentions(text, "below the ridge point"));
    CHECK(mentions(text, "memory-bound"));
}

TEST_CASE("an unvalidated band is explained by how it was made", "[explain]") {
    const Copy op{.elements = 1};
    Prediction prediction = prediction_of();
    apply_roofline_band(prediction);
    CHECK(mentions(
        all_of(explain(op, prediction, machine_of())),
        "The band reaches from the roofline's lower bound to 4 times the estimate plus 12 us; "
        "it is not validated."));
}

TEST_CASE("tiles and waves are explained if there are any", "[explain]") {
    Prediction prediction = prediction_of();
    const Matmul op{.m = 1793, .n = 1793, .k = 64};
    CHECK_FALSE(mentions(all_of(explain(op, prediction, machine_of())), "wave"));
    prediction.tiling = {.tile = {256, 128, 32},
                         .tiles = 120,
                         .waves = 2,
                         .tile_efficiency = 0.8176,
                         .wave_efficiency = 120.0 / 216.0};
    const std::string text = all_of(explain(op, prediction, machine_of()));
    CHECK(mentions(text, "120 tiles of 256x128"));
    CHECK(mentions(text, "108 SMs: 2 waves"));
    CHECK(mentions(text, "55.6 %"));
}

TEST_CASE("every note has its own text and appears in the explanation", "[explain]") {
    std::set<std::string> seen;
    const auto check = [&](const Note& remark) {
        const std::string words = describe(remark);
        CHECK_FALSE(words.empty());
        CHECK(seen.insert(words).second);
        Prediction prediction = prediction_of();
        prediction.note(remark);
        CHECK(mentions(all_of(explain(Copy{.elements = 1}, prediction, machine_of())), words));
    };
    [&]<std::size_t... kind>(std::index_sequence<kind...>) {
        (check(std::variant_alternative_t<kind, Note>{}), ...);
    }
    (std::make_index_sequence<std::variant_size_v<Note>>());
}

TEST_CASE("a term reads as time, resource, amount and rate", "[explain]") {
    const std::string tensor =
        describe(Term{.resource = Resource::tensor, .time = 1.0 * units::ms, .amount = 2e12});
    CHECK(mentions(tensor, "1 ms"));
    CHECK(mentions(tensor, "tensor cores"));
    CHECK(mentions(tensor, "2 TFLOP"));
    CHECK(mentions(tensor, "2000 TFLOP/s"));
    const std::string dram =
        describe(Term{.resource = Resource::dram, .time = 1.0 * units::ms, .amount = 3e9});
    CHECK(mentions(dram, "3 GB"));
    CHECK(mentions(dram, "3 TB/s"));
    const std::string launch =
        describe(Term{.resource = Resource::launch, .time = 5.0 * units::us, .amount = 0.0});
    CHECK(mentions(launch, "5 us"));
    CHECK_FALSE(mentions(launch, " at "));
}

}  // namespace
TEST_CASE("a correction is explained by the residuals behind it") {
    Prediction prediction = prediction_of();
    prediction.correction = 1.04;
    const auto text = [&] {
        return all_of(explain(Matmul{.m = 1, .n = 1, .k = 1}, prediction, machine_of()));
    };
    prediction.evidence = {.chip = ChipEvidence::own, .shape = ShapeEvidence::inside};
    CHECK(mentions(text(), "model at similar measured shapes correct its"));
    prediction.evidence.chip = ChipEvidence::relative;
    CHECK(mentions(text(), "measured shapes on a relative of this GPU correct its"));
}

}  // namespace ridge::model
