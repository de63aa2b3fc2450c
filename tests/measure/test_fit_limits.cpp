// Fits with too few rows give only finite numbers and change nothing that the rows do not
// determine.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "measure/fit/fit.h"
#include "measure/record/record.h"
#include "measure/statistics/least_squares.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

namespace ridge::measure {
namespace {

TEST_CASE("the cost of a fit without parameters is that of its residuals", "[fit]") {
    const Residuals residuals = [](std::span<const double>) {
        return std::vector<double>{0.1, -0.1};
    };
    const LeastSquaresSummary fit = least_squares(
        residuals, {}, {.scale = std::numeric_limits<double>::infinity(), .pull = 0.0});
    CHECK(fit.status == FitStatus::converged);
    CHECK(fit.cost == Approx(0.02));
    CHECK(fit.values.empty());
}

TEST_CASE("rows that determine no parameter leave the description as it is", "[fit]") {
    FitProblem problem;
    const model::Machine start = model::make_machine(test::catalogue().at("a100-pcie-40gb"));
    problem.machines.emplace("a100-pcie-40gb", start);
    for (const std::int64_t elements : {1 << 20, 1 << 24, 1 << 28}) {
        MeasuredRow row;
        row.gpu = "a100-pcie-40gb";
        row.kind = model::OperationKind::copy;
        row.operation = model::Copy{.elements = elements, .type = model::DataType::fp32};
        row.measured = 10.0 * units::us;
        problem.rows.push_back(row);
    }
    problem.parameters.push_back({model::find_parameter("model.eager.reductions")});
    problem.group = [](const MeasuredRow&, const model::Prediction&) { return "copy"; };
    problem.fold_key = [](const MeasuredRow& row) { return canonical_text(row.operation); };
    const FitReport report = run_fit(problem);
    CHECK(report.usable());
    CHECK(report.parameters.empty());
    REQUIRE(report.held.size() == 1);
    CHECK(report.held[0].reason == "no row depends on it");
    CHECK(report.cross_validated.back().errors.mean == report.fitted.back().errors.mean);
}

TEST_CASE("attention of a GPU without page blocks is fitted without a number that is none",
          "[fit]") {
    model::Catalogue catalogue = model::catalogue();
    std::string table =
        "gpu,op,impl,dtype,batch,heads,kv_heads,seq_q,seq_kv,head_dim,causal,kv_write,l2,launch,"
        "measured_us\n";
    model::Machine machine = model::make_machine(catalogue.at("a100-sxm-80gb"));
    machine.attention->flash2->page_block = Time{};
    for (const int batch : {1, 4, 16, 64}) {
        for (const int keys : {64, 512, 2048, 8192}) {
            model::Attention op;
            op.batch = batch;
            op.heads = 32;
            op.kv_heads = 8;
            op.seq_q = 1;
            op.seq_kv = keys;
            op.head_dim = 128;
            const auto prediction = std::get<model::Prediction>(
                model::predict(op, {.implementation = model::Implementation::flash2}, machine));
            table += "a100-sxm-80gb,attention,flash2,bf16," + std::to_string(batch) + ",32,8,1," +
                     std::to_string(keys) + ",128,0,0,warm,kernel," +
                     std::to_string(1.1 * prediction.time.in(units::us)) + "\n";
        }
    }
    const test::TemporaryFolder folder;
    test::write_text(folder.file("attention_decode.csv"), table);
    const auto reports =
        fit_attention({.data = folder.path(), .gpus = {}, .machine = [&](const std::string&) {
                           return machine;
                       }});
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].usable());
    CHECK(!reports[0].parameters.empty());
    for (const FittedParameter& each : reports[0].parameters) {
        CAPTURE(each.field);
        CHECK(each.field != "model.attention.flash2.page_block");
        CHECK(std::isfinite(each.number));
        CHECK(each.standard_error <= 1.0);
    }
    CHECK(std::isfinite(reports[0].cross_validated.back().errors.mean));
}

}  // namespace
}  // namespace ridge::measure
