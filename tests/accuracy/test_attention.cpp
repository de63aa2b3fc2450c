// Attention of a serving engine, prefill and decode, compared with the times in aiconfigurator's
// tables.
#include "model/machine/parameters.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {
namespace {

using measure::MeasuredRow;

/// Prefill is judged on rows of 20 us or more, decoding on all rows.
std::vector<MeasuredRow> judged_rows(const std::string& folder, const std::string& phase,
                                     const std::string& gpu) {
    std::vector<MeasuredRow> rows =
        measure::read_rows(folder + "/attention_" + phase + "_" + gpu + ".csv");
    if (phase == "prefill") {
        std::erase_if(rows, [](const MeasuredRow& row) { return row.measured < 20.0 * units::us; });
    }
    return rows;
}

TEST_CASE("attention of measured GPUs", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    for (const std::string phase : {"prefill", "decode"}) {
        for (const std::string gpu : {"h200-sxm", "h100-sxm", "a100-sxm-80gb", "b200"}) {
            check_bounds(accuracy_of(judged_rows(*folder, phase, gpu), machine),
                         "attention." + phase + "." + gpu);
        }
    }
}

TEST_CASE("attention with the family's parameters", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    // The H100 NVL has no fit of its own, so it has the family's parameters.
    const model::Machine& relative = machine("h100-nvl");
    REQUIRE(relative.attention.has_value());
    REQUIRE(relative.attention->flash3->evidence != model::Evidence::own);
    for (const std::string phase : {"prefill", "decode"}) {
        for (const std::string gpu : {"h200-sxm", "h100-sxm"}) {
            model::Machine borrowed = machine(gpu);
            for (const model::ModelParameter& each : model::model_parameters()) {
                if (each.section != "attention.flash3") continue;
                if (const auto value = each.read(relative)) each.write(borrowed, *value);
            }
            borrowed.attention->flash3->evidence = model::Evidence::family;
            const measure::ErrorSummary accuracy =
                accuracy_of(judged_rows(*folder, phase, gpu),
                            [&](const std::string&) -> const model::Machine& { return borrowed; });
            INFO(phase << " " << gpu);
            // The family's band is wide: it holds at least 80 % of its own members' times.
            CHECK(accuracy.coverage >= 0.8);
            check_errors(accuracy, "attention_family." + phase + "." + gpu);
        }
    }
}

}  // namespace
}  // namespace ridge::test
