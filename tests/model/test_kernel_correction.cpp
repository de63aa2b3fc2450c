// The correction of an engine's kernel: its text, where it holds, and what it leaves as it is.
#include <cmath>
#include <memory>
#include <string>

#include "hardware/error.h"
#include "hardware/loader.h"
#include "model/catalogue/catalogue.h"
#include "model/machine/machine_software.h"
#include "model/predict.h"
#include "model/residual/kernel_correction.h"
#include "model/software.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::model {
namespace {

const std::string kernel_section = "model.engine.tiled_product.vllm.fp8_sm90";
const std::string kernel_range =
    "m 0 14, n 6 16, k 6 16, weights 12 32, work 12 46, tiles -8 12, wave 0 1, full 0 1, compute 0 "
    "1, "
    "memory 0 1, time 0 20";

/// A tree that is `below` up to 64 rows and `above` from 256 on, in ten-thousandths.
std::string by_rows(int below, int above) {
    std::string text = "0 1 1 1";
    for (int leaf = 0; leaf < 16; ++leaf) text += ' ' + std::to_string(leaf < 8 ? below : above);
    return text;
}

std::string correction_overlay(const std::string& trees) {
    const auto line = [](const std::string& name, const std::string& value) {
        return name + " = { value = " + value + ", source = \"FIT\" }\n";
    };
    return "schema = 1\nkind = \"overlay\"\nname = \"x\"\noverlay = \"h200-sxm\"\ntitle = \"x\"\n"
           "[sources]\nFIT = { kind = \"derived\", text = \"x\" }\n[" +
           kernel_section + "]\n" + line("correction_range", '"' + kernel_range + '"') +
           line("correction_splits", "\"m 70000 20000, n 115000 10000\"") +
           line("correction_trees", '"' + trees + '"') + line("correction_below", "0.02") +
           line("correction_above", "0.03");
}

Machine corrected_machine(const std::string& trees, View view = View::calibrated) {
    Catalogue gpus = catalogue();
    gpus.add_text(correction_overlay(trees), "test.toml");
    return gpus.machine(gpus.at("h200-sxm", view, "vllm-0.24.0"),
                        SoftwareChoice::named("vllm-0.24.0"));
}

Prediction product(std::int64_t m, const Machine& machine, LaunchMode launch = LaunchMode::graph) {
    Execution execution{.launch = launch};
    execution.software = SoftwareChoice::named("vllm-0.24.0");
    const Matmul op{.m = m, .n = 4096, .k = 4096, .type = DataType::fp8};
    return std::get<Prediction>(predict(op, execution, machine));
}

const KernelCorrection& correction_in(const Machine& machine) {
    for (const EngineKernel& each : machine.engine) {
        if (each.recipe->section == kernel_section) return *each.correction;
    }
    FAIL("no such kernel");
    return *machine.engine.front().correction;
}

}  // namespace

TEST_CASE("a kernel's correction changes its time and its band, and no others'", "[engine]") {
    const Machine plain = corrected_machine(by_rows(1000, 1000), View::analytic);
    const Machine machine = corrected_machine(by_rows(1000, -500));
    const Prediction before = product(16, plain);
    const Prediction few = product(16, machine);
    CHECK(before.correction == 1.0);
    CHECK(few.correction == Approx(std::exp(0.1)));
    CHECK(few.time.base() == Approx(before.time.base() * std::exp(0.1)));
    CHECK(few.low.base() == Approx(few.time.base() * std::exp(-0.02)));
    CHECK(few.high.base() == Approx(few.time.base() * std::exp(0.03)));
    CHECK(product(2048, machine).time.base() ==
          Approx(product(2048, plain).time.base() * std::exp(-0.05)));
    // Between the two there is no jump.
    double last = product(64, machine).time / product(64, plain).time;
    for (std::int64_t m = 65; m <= 256; ++m) {
        const double factor = product(m, machine).time / product(m, plain).time;
        CHECK(std::abs(factor - last) < 0.005);
        last = factor;
    }
}

TEST_CASE("a kernel's correction is limited, and never below the lower bound", "[engine]") {
    const Machine plain = corrected_machine(by_rows(0, 0), View::analytic);
    const Machine longer = corrected_machine(by_rows(9000, 9000));
    CHECK(product(16, longer).correction == Approx(1.5));
    const Machine shorter = corrected_machine(by_rows(-9000, -9000));
    for (const std::int64_t m : {1, 64, 1024, 16384}) {
        const Prediction p = product(m, shorter);
        CHECK(p.time >= p.lower_bound);
        CHECK(p.low <= p.time);
        CHECK(p.time >= (1.0 / 1.5 - 1e-9) * product(m, plain).time);
    }
}

TEST_CASE("a kernel's correction is read as it is written, or refused by its field", "[engine]") {
    const std::string trees = by_rows(120, -30) + ", " + by_rows(7, 8);
    const KernelCorrection correction = correction_in(corrected_machine(trees));
    const FeatureNames names = law_table()[law_index("tiled_product")].features;
    const auto texts = correction_texts(names, correction);
    CHECK(texts[0] == kernel_range);
    CHECK(texts[1] == "m 70000 20000, n 115000 10000");
    CHECK(texts[2] == trees);
    CHECK(is_correction(kernel_section + ".correction_trees"));
    CHECK_FALSE(is_correction(kernel_section + ".band_below"));
    CHECK_THROWS_WITH(corrected_machine("0 1"),
                      contains_text(kernel_section + ".correction_trees: '0' begins a tree"));
}

TEST_CASE("another architecture does not take the correction of a kernel", "[engine]") {
    Machine machine = corrected_machine(by_rows(1000, 1000));
    Prediction p = product(16, machine);
    const Time time = p.time;
    p.evidence.chip = ChipEvidence::foreign;
    for (const EngineKernel& each : machine.engine) {
        if (each.recipe->section != kernel_section) continue;
        const Matmul op{.m = 16, .n = 4096, .k = 4096, .type = DataType::fp8};
        correct_kernel(p, p.time, op, each, machine);
    }
    CHECK(p.time.base() == time.base());
}

}  // namespace ridge::model
