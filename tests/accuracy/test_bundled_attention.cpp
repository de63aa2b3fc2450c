// The bundled attention kernels compared with the committed records of an H200: executed FLOP,
// tiles, splits and times.
#include <map>
#include <string>

#include "measure/record/record.h"
#include "model/attention/bundled.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {
namespace {

using measure::MeasuredRow;
using model::Implementation;

std::vector<std::string> record_folders() {
    const std::string records = RIDGE_RECORDS;
    return {records + "/h200-sxm", records + "/h200-sxm-random"};
}

/// Class of the kernel: "mma", "wgmma", "decode" or "standard".
std::string kernel_of(const model::Attention& op, Implementation implementation) {
    const bool decodes = implementation == Implementation::mma && model::decodes_with_splits(op);
    return decodes ? "decode" : std::string(name_of(implementation));
}

TEST_CASE("the model counts the FLOP that bundled attention executes", "[accuracy][bundled]") {
    const model::Machine& machine = test::machine("h200-sxm");
    int compared = 0;
    for (const measure::Record& record : measure::read_all_records(record_folders()).records) {
        const auto* const op = std::get_if<model::Attention>(&record.question.operation);
        const auto* const counters = std::get_if<measure::Counters>(&record.counters);
        if (op == nullptr || counters == nullptr || !counters->tensor) continue;
        const model::Execution& execution = record.question.execution;
        if (!model::is_bundled_attention(execution.implementation)) continue;
        INFO(canonical_text(record.question));
        const auto p = std::get<model::Prediction>(model::predict(*op, execution, machine));
        CHECK(p.executed_tensor / *counters->tensor == Approx(1.0).epsilon(0.01));
        CHECK(p.tiling.split == record.geometry->split);
        CHECK(p.tiling.tile.m == record.geometry->tile->m);
        CHECK(p.tiling.tile.n == record.geometry->tile->n);
        ++compared;
    }
    CHECK(compared > 50);
}

TEST_CASE("times of bundled attention", "[accuracy][bundled]") {
    const auto gpu = [](const std::string&) { return std::string("h200-sxm"); };
    std::map<std::string, std::vector<MeasuredRow>> kernels;
    for (MeasuredRow& row : measure::read_record_rows(record_folders(), gpu)) {
        const auto* const op = std::get_if<model::Attention>(&row.operation);
        if (op == nullptr) continue;
        kernels[kernel_of(*op, row.execution.implementation)].push_back(std::move(row));
    }
    REQUIRE(kernels.size() == 4);
    for (const auto& [kernel, rows] : kernels) {
        check_errors(accuracy_of(rows, machine), "bundled_attention." + kernel);
    }
}

}  // namespace
}  // namespace ridge::test
