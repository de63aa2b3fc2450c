// Fits of a residual correction to known residuals, to too few rows, and to rows without residuals.
#include <cmath>
#include <memory>

#include "hardware/error.h"
#include "hardware/units.h"
#include "measure/fit/fit_residual.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/support/temporary_folder.h"

namespace ridge::measure {
namespace {

using test::analytic_machine;
using test::TemporaryFolder;

/// Times of products of `columns` widths, 10 values of m and 4 of k: the predictions times
/// exp(share x (log2 m - 6)).
std::string products(const std::string& gpu, int columns, double share) {
    const model::Machine& machine = analytic_machine(gpu);
    std::string text = "gpu,op,dtype,m,n,k,l2,launch,measured_us\n";
    for (int column = 1; column <= columns; ++column) {
        for (std::int64_t m = 8; m <= 4096; m *= 2) {
            for (const std::int64_t k : {512, 1024, 4096, 8192}) {
                const model::Matmul op{.m = m, .n = 256 * column, .k = k};
                const auto outcome = model::predict(
                    op, {.l2 = model::L2State::warm, .launch = model::LaunchMode::graph}, machine);
                const double factor = std::exp(share * (std::log2(static_cast<double>(m)) - 6.0));
                const double time = std::get<model::Prediction>(outcome).time.in(units::us)*factor;
                text += gpu + ",matmul,bf16," + std::to_string(m) + ',' + std::to_string(op.n) +
                        ',' + std::to_string(k) + ",warm,graph," + std::to_string(time) + '\n';
            }
        }
    }
    return text;
}

FitRequest request_of(const TemporaryFolder& folder, std::vector<std::string> gpus) {
    return {.data = folder.path(), .gpus = std::move(gpus), .machine = analytic_machine};
}

}  // namespace

TEST_CASE("the fit of a correction finds the residuals that it was given", "[fit][residual]") {
    const TemporaryFolder folder;
    folder.write("matmul_h100-sxm.csv", products("h100-sxm", 8, 0.03));
    folder.write("matmul_h200-sxm.csv", products("h200-sxm", 8, 0.02));
    const auto reports = fit_residuals(request_of(folder, {"h100-sxm", "h200-sxm"}));
    REQUIRE(reports.size() == 2);
    for (const ResidualReport& report : reports) {
        INFO(report.gpu);
        CHECK(report.rows == 320);
        CHECK(report.kept_because.empty());
        CHECK(report.held_out > 60);
        CHECK(report.before.mean > 0.04);
        CHECK(report.after.mean < 0.2 * report.before.mean);
    }
    CHECK(reports[0].before.mean > reports[1].before.mean);

    const std::string overlay = residual_overlay(reports, "h200-sxm", "made up");
    CHECK(overlay == residual_overlay(fit_residuals(request_of(folder, {"h100-sxm", "h200-sxm"})),
                                      "h200-sxm", "made up"));
    model::Catalogue gpus = model::Catalogue::embedded();
    CHECK(gpus.add_text(overlay, "made.toml") == "h200-sxm");
    const model::Machine machine = model::make_machine(gpus.at("h200-sxm"));
    const auto outcome =
        model::predict(model::Matmul{.m = 2048, .n = 1024, .k = 4096}, {}, machine);
    // Five doublings above 2^6, of 2 % each.
    CHECK(std::get<model::Prediction>(outcome).correction == Approx(std::exp(0.1)).epsilon(0.01));
}

TEST_CASE("a correction that the rows do not support is not written", "[fit][residual]") {
    const TemporaryFolder folder;
    folder.write("matmul_h100-sxm.csv", products("h100-sxm", 1, 0.03));
    auto reports = fit_residuals(request_of(folder, {}));
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].kept_because == "fewer than 60 rows");
    CHECK(residual_overlay(reports, "h100-sxm", "made up").find("[model.") == std::string::npos);

    folder.write("matmul_h100-sxm.csv", products("h100-sxm", 8, 0.0));
    reports = fit_residuals(request_of(folder, {}));
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].kept_because == "the error of held-out rows falls by less than 5 %");
    CHECK(fit_residuals(request_of(folder, {"b200"})).empty());
}

TEST_CASE("a correction builds on a relative's trees if it has few rows of its own",
          "[fit][residual]") {
    const TemporaryFolder folder;
    folder.write("matmul_h200-sxm.csv", products("h200-sxm", 8, 0.03));
    const auto relative = fit_residuals(request_of(folder, {"h200-sxm"}));
    REQUIRE(relative.size() == 1);
    model::Residuals start;
    start.set(relative[0].residual_class, relative[0].fit);

    folder.write("matmul_h100-sxm.csv", products("h100-sxm", 2, 0.03));
    const FitRequest few = request_of(folder, {"h100-sxm"});
    const auto alone = fit_residuals(few);
    const auto built = fit_residuals(few, start);
    REQUIRE(alone.size() == 1);
    REQUIRE(built.size() == 1);
    CHECK(built[0].rows == 80);
    CHECK(built[0].kept_because.empty());
    CHECK(built[0].after.mean <= alone[0].after.mean);
    // Its box covers both sets of rows, so what the relative knows of wider products holds here
    // too.
    const auto at_2048 = [](const ResidualReport& report) {
        model::Machine machine = analytic_machine("h100-sxm");
        auto residuals = std::make_shared<model::Residuals>();
        residuals->set(report.residual_class, report.fit);
        machine.residuals = std::move(residuals);
        const model::Matmul wide{.m = 2048, .n = 2048, .k = 4096};
        return std::get<model::Prediction>(model::predict(wide, {}, machine)).correction;
    };
    CHECK(at_2048(built[0]) == Approx(std::exp(0.15)).epsilon(0.01));
    CHECK(at_2048(alone[0]) < 1.1);

    // If the rows contradict the relative, the fit changes its trees or does without them.
    folder.write("matmul_h100-sxm.csv", products("h100-sxm", 8, -0.03));
    const auto opposed = fit_residuals(few, start);
    REQUIRE(opposed.size() == 1);
    CHECK(opposed[0].after.mean < 0.3 * opposed[0].before.mean);
}

}  // namespace ridge::measure
