// PyTorch's kernels on an H200 and an H100: shapes drawn with seeds that nothing was fitted to.
#include <map>
#include <string>
#include <vector>

#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "model/catalogue/catalogue.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

/// The class under which a record is judged.
std::string class_of(const measure::Question& question) {
    using model::Implementation;
    if (question.execution.implementation == Implementation::compiled) return "compiled";
    if (std::holds_alternative<model::Matmul>(question.operation)) return "products";
    if (std::holds_alternative<model::Attention>(question.operation)) return "attention";
    if (std::holds_alternative<model::RowWise>(question.operation)) return "rows";
    if (std::holds_alternative<model::AdamW>(question.operation)) return "optimizers";
    return "streams";
}

void judge(const std::string& gpu) {
    const auto file =
        measure::read_all_records({std::string(RIDGE_RECORDS) + "/" + gpu + "-torch-judge"});
    REQUIRE(file.damaged.empty());
    const measure::Validation validation =
        measure::validate(file.records, model::catalogue(), model::View::calibrated);
    CHECK(validation.unused.empty());
    std::map<std::string, std::vector<measure::TimeError>> errors;
    for (const measure::Comparison& each : validation.comparisons) {
        errors[class_of(file.records[each.record].question)].push_back(
            {.ratio = 1.0 + each.error, .inside = each.in_band});
    }
    CHECK(errors.size() == 6);
    for (const auto& [name, list] : errors) {
        INFO(name);
        CHECK(list.size() >= 30);
        check_errors(measure::summarise_errors(list), "torch." + name + "." + gpu);
    }
}

}  // namespace

TEST_CASE("PyTorch on an H200, seeds that nothing was fitted to", "[accuracy][torch]") {
    judge("h200-sxm");
}
TEST_CASE("PyTorch on an H100, seeds that nothing was fitted to", "[accuracy][torch]") {
    judge("h100-sxm");
}

}  // namespace ridge::test
