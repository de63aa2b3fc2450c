// Scaling laws for a GPU without measurements (docs/model.md L1 to L13).
#include "model/machine/scaling.h"

#include <cmath>
#include <string>

#include "model/catalogue/catalogue.h"
#include "model/machine/evidence.h"
#include "model/machine/parameters.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/square_attention.h"

namespace ridge::model {
namespace {

using test::machine;

double value(const std::string& gpu, const std::string& path) {
    const ModelParameter* const parameter = find_parameter(path);
    REQUIRE(parameter != nullptr);
    return parameter->read(machine(gpu)).value();
}

constexpr Laws laws{.sustained = 0.77,
                    .sustained_slope = 0.18,
                    .least_sustained = 0.3,
                    .store = 0.86,
                    .l2 = 0.745,
                    .feed = 0.91};

/// 100 multiprocessors at 1 GHz, 1 TB/s, 200 W, 200 TFLOP/s tensor and 10 TFLOP/s vector.
constexpr Consists toy{.sms = 100.0,
                       .clock = 1.0 * units::GHz,
                       .tensor_clock = 1.0 * units::GHz,
                       .dram = 1.0 * units::TB / units::s,
                       .watts = Power::from_base(200.0),
                       .tensor_peak = FlopRate::from_base(200e12),
                       .vector_peak = FlopRate::from_base(10e12),
                       .laws = laws};

TEST_CASE("scaling laws by hand", "[scaling]") {
    CHECK(sustained_share(toy) == Approx(0.77));  // one watt per TFLOP/s
    Consists cool = toy;
    cool.watts = Power::from_base(200.0 * std::exp(-0.5));
    CHECK(sustained_share(cool) == Approx(0.77 - 0.09));
    cool.watts = Power::from_base(1.0);
    CHECK(sustained_share(cool) == 0.3);
    CHECK(store_rate(toy).base() == Approx(8.6));  // 0.86 of 10 bytes per clock
    CHECK(powered_share(toy, toy.vector_peak, 16.0) == 1.0);
    CHECK(powered_share(toy, toy.vector_peak, 40.0) == Approx(0.5));
    CHECK(powered_share(toy, toy.vector_peak, 0.0) == 1.0);
    Consists unknown = toy;
    unknown.watts = Power{};
    CHECK(powered_share(unknown, toy.vector_peak, 40.0) == 1.0);
    CHECK(l2_stream_rate(2000.0 * units::B / units::cycle, laws) ==
          1490.0 * units::B / units::cycle);
    // 1000 multiply-adds per clock and multiprocessor: 4000 bytes at 128 per clock.
    CHECK(feed_through_registers(toy) == Approx(0.91 * 4000.0 / 128.0));
}

TEST_CASE("without laws nothing is scaled", "[scaling]") {
    Consists plain = toy;
    plain.laws = {};
    CHECK(sustained_share(plain) == 1.0);
    CHECK(store_rate(plain) == 10.0 * units::B / units::cycle);
    CHECK(l2_stream_rate(2000.0 * units::B / units::cycle, {}) == 2000.0 * units::B / units::cycle);
}

TEST_CASE("the scaling laws agree with the fits", "[scaling]") {
    // W per TFLOP/s of the four GPUs that the law was fitted to; shares agree within 0.03.
    for (const auto& [gpu, watts, peak] :
         {std::tuple{"a100-sxm-80gb", 400.0, 312.0}, std::tuple{"h100-sxm", 700.0, 989.4},
          std::tuple{"h200-sxm", 700.0, 989.4}, std::tuple{"b200", 1000.0, 2250.0}}) {
        Consists of = toy;
        of.laws = machine(gpu).laws;
        of.watts = Power::from_base(watts);
        of.tensor_peak = FlopRate::from_base(peak * 1e12);
        INFO(gpu);
        CHECK(std::abs(sustained_share(of) - value(gpu, "model.matmul.tensor.sustained_fraction")) <
              0.03);
    }
}

TEST_CASE("times on a multiprocessor scale with its clock", "[scaling]") {
    const double clocks = value("h100-nvl", "model.matmul.tensor.k_step");
    CHECK(clocks == Approx(value("h100-pcie", "model.matmul.tensor.k_step")));
    const auto step = [](const char* gpu) {
        return machine(gpu).matmul.find(MatmulPipe::tensor)->k_step;
    };
    const auto clock = [](const char* gpu) { return machine(gpu).tensor_clock; };
    CHECK(step("h100-nvl") / step("h100-pcie") == Approx(clock("h100-pcie") / clock("h100-nvl")));
    // A launch does not depend on the clock.
    CHECK(machine("h100-nvl").matmul.find(MatmulPipe::tensor)->launch ==
          machine("h100-pcie").matmul.find(MatmulPipe::tensor)->launch);
}

TEST_CASE("a card with little power does not reach its fp32 peak", "[scaling]") {
    const auto share = [](const char* gpu) {
        return machine(gpu).matmul.find(MatmulPipe::vector)->sustained_fraction;
    };
    CHECK(share("t4") == Approx(70.0 / (8.1 * 16.0)).epsilon(0.01));
    CHECK(share("l4") == Approx(72.0 / (30.3 * 7.0)).epsilon(0.01));
    CHECK(share("v100-pcie") == 1.0);  // fitted: its issue fraction includes what it reaches
}

TEST_CASE("power limits of cards with GDDR memory follow from the energy of a tensor FLOP",
          "[scaling]") {
    const auto share = [](const char* gpu) {
        return machine(gpu).matmul.find(MatmulPipe::tensor)->sustained_fraction;
    };
    CHECK(share("l4") == Approx(72.0 / (121.0 * 1.3)));
    CHECK(share("rtx-4090") == 1.0);  // half rate with fp32 sums, for which its 450 W are enough
    CHECK(machine("rtx-4090").matmul.find(MatmulPipe::tensor)->burst_fraction == 1.0);
    // Attention does not multiply faster.
    CHECK(machine("l4").attention->flash2->tensor_fraction == Approx(share("l4")));
    CHECK(machine("rtx-4090").attention->flash2->tensor_fraction == Approx(0.87));
    // A fitted GPU's chip with another power limit states its own share.
    CHECK(share("gb200") == Approx(0.566));
    CHECK(share("gb300") == Approx(0.584));
    CHECK(share("gb200") * 2500.0 < 1.06 * share("b200") * 2250.0);
}

TEST_CASE("the rate of an L2 follows from its width", "[scaling]") {
    for (const char* const gpu : {"a100-sxm-80gb", "v100-sxm"}) {
        const Machine& m = machine(gpu);
        const double width = gpu[0] == 'a' ? 5120.0 : 2048.0;
        INFO(gpu);
        CHECK(m.memory->l2_read / (width * units::B / units::cycle * m.boost_clock) ==
              Approx(0.745).epsilon(0.01));
    }
}

/// A description without a section; with `donor`, it gets the section `other` of that GPU instead.
hardware::Description without(const std::string& gpu, const std::string& section,
                              const std::string& donor = {}, const std::string& other = {}) {
    static const model::Catalogue catalogue = model::catalogue();
    hardware::Description description = catalogue.at(gpu);
    std::erase_if(description.data,
                  [&](const auto& field) { return field.first.starts_with(section); });
    if (donor.empty()) return description;
    description.sources.insert(catalogue.at(donor).sources.begin(),
                               catalogue.at(donor).sources.end());
    for (const auto& field : catalogue.at(donor).data) {
        if (field.first.starts_with(other)) description.data.insert(field);
    }
    return description;
}

TEST_CASE("an attention kernel without measurements takes about as long as another family's",
          "[scaling]") {
    const Attention op{.heads = 32,
                       .kv_heads = 8,
                       .seq_q = 4096,
                       .seq_kv = 4096,
                       .head_dim = 128,
                       .type = DataType::bf16,
                       .causal = true,
                       .kv_write = true};
    const auto of = [&](const Machine& gpu) { return std::get<Prediction>(predict(op, {}, gpu)); };
    const Prediction fitted = of(machine("a100-sxm-80gb"));
    const Prediction guessed = of(make_machine(without("a100-sxm-80gb", "model.attention.flash2.",
                                                       "h200-sxm", "model.attention.flash3.")));
    CHECK(guessed.implementation == Implementation::flash2);
    CHECK(noted<note::EstimatedKernel>(guessed));
    CHECK_FALSE(noted<note::RooflineOnly>(guessed));
    CHECK(guessed.confidence() == Confidence::family);
    CHECK(guessed.time / fitted.time == Approx(1.0).margin(0.1));  // 0.91
    CHECK(guessed.high / guessed.time > fitted.high / fitted.time);
}

TEST_CASE("nvfp4 products without measurements follow the 8-bit ones, with a wait at each step",
          "[scaling]") {
    const Matmul op{.m = 128, .n = 4096, .k = 16384, .type = DataType::nvfp4};
    const auto of = [&](const Machine& gpu) { return std::get<Prediction>(predict(op, {}, gpu)); };
    const Prediction fitted = of(machine("b200"));
    const Prediction guessed = of(make_machine(without("b200", "model.matmul.fp4.")));
    CHECK(guessed.confidence() == Confidence::family);
    CHECK(guessed.time / fitted.time == Approx(1.0).margin(0.05));  // 0.98
}

TEST_CASE("parameters state their evidence", "[scaling]") {
    const auto tensor = [](const char* gpu) {
        return machine(gpu).matmul.find(MatmulPipe::tensor)->evidence;
    };
    CHECK(tensor("b200") == Evidence::own);
    CHECK(tensor("gb200") == Evidence::family);
    CHECK(tensor("l40s") == Evidence::foreign);
    CHECK(machine("h200-sxm").attention->flash3->evidence == Evidence::own);
    CHECK(machine("h100-nvl").attention->flash3->evidence == Evidence::family);
    CHECK(machine("l40s").attention->flash2->evidence == Evidence::foreign);
    CHECK(machine("gb300").attention->flashinfer->evidence == Evidence::family);
    const auto single = [](const char* gpu) {
        return machine(gpu).matmul.find(MatmulPipe::vector)->evidence;
    };
    CHECK(single("h200-sxm") == Evidence::own);
    CHECK(single("h100-sxm") == Evidence::family);
    CHECK(single("l40s") == Evidence::foreign);
    CHECK(machine("h200-sxm").attention->mma->evidence == Evidence::own);
    CHECK(machine("h100-sxm").attention->mma->evidence == Evidence::family);
    CHECK(machine("a100-sxm-80gb").attention->mma->evidence == Evidence::foreign);
    CHECK(machine("a100-sxm-40gb").attention->standard.evidence == Evidence::own);
    CHECK(machine("a100-sxm-80gb").attention->standard.evidence == Evidence::family);
    CHECK(machine("h100-sxm").attention->standard.evidence == Evidence::foreign);
    CHECK(machine("h100-sxm").attention->standard.softmax_evidence == Evidence::family);
    CHECK(machine("h200-sxm").mla.decode->evidence == Evidence::own);
    CHECK(machine("h100-nvl").moe->evidence == Evidence::family);
    CHECK(machine("h100-sxm").torch_evidence() == Evidence::own);
    CHECK(machine("h100-nvl").torch_evidence() != Evidence::own);
}

TEST_CASE("the provenance of a source and the file that names it are the evidence", "[scaling]") {
    const auto& gpu = test::catalogue().at("a100-pcie-40gb", model::View::calibrated);
    CHECK(evidence_in(gpu, "model.eager.reductions") == Evidence::own);
    CHECK(evidence_in(gpu, "model.torch.function.series") ==
          Evidence::family);  // measured, inherited
    CHECK(evidence_in(gpu, "model.matmul.tensor.k_step") == Evidence::family);
    CHECK(evidence_in(gpu, "latency.shared") == Evidence::foreign);  // an estimate of its own file
    CHECK(evidence_in(gpu, "model.mla.decode.start") == Evidence::foreign);  // there is none
}

TEST_CASE("bundled attention rests on another architecture where its own was not measured",
          "[scaling]") {
    const Attention op = test::attention(1, 16, 4096, 64);
    const Execution mma{.implementation = Implementation::mma};
    const auto grounds = [&](const char* gpu) {
        const auto outcome = predict(op, mma, machine(gpu));
        return std::get<Prediction>(outcome).evidence;
    };
    CHECK(grounds("h200-sxm").chip == ChipEvidence::own);
    CHECK(grounds("h100-sxm").chip != ChipEvidence::foreign);
    CHECK(grounds("a100-sxm-80gb").chip == ChipEvidence::foreign);
    // The shape is as well known there as here.
    CHECK(grounds("a100-sxm-80gb").shape == grounds("h200-sxm").shape);
}

TEST_CASE("an implementation without any fit is the roofline in a wide band", "[scaling]") {
    const Attention op{.heads = 32,
                       .kv_heads = 32,
                       .seq_q = 4096,
                       .seq_kv = 4096,
                       .head_dim = 128,
                       .type = DataType::bf16,
                       .causal = true};
    Execution execution;
    execution.implementation = Implementation::flash2;
    const auto p = std::get<Prediction>(predict(op, execution, machine("b200")));
    REQUIRE(p.notes.size() >= 1);
    CHECK(noted<note::RooflineOnly>(p));
    CHECK(p.low == p.lower_bound);
    CHECK(p.high.in(units::us) == Approx(4.0 * p.time.in(units::us) + 12.0));
}

}  // namespace
}  // namespace ridge::model
