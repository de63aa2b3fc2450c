// The fit of a kernel's correction to residuals that are known, and to none.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "hardware/units.h"
#include "measure/fit/engine_rows.h"
#include "measure/fit/fit.h"
#include "model/catalogue/catalogue.h"
#include "model/machine/machine_software.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/support/temporary_folder.h"

namespace ridge::measure {
namespace {

using test::TemporaryFolder;

const std::string corrected_section = "model.engine.tiled_product.vllm.fp8_sm90";

model::Machine uncorrected_machine(const std::string& gpu) {
    static const model::Catalogue catalogue = model::Catalogue::embedded();
    return catalogue.machine(catalogue.at(gpu, model::View::analytic, "vllm-0.24.0"),
                             model::SoftwareChoice::named("vllm-0.24.0"));
}

/// The law's times of products times exp(share x (log2 m - 6)), of some widths.
std::string products_of_kernel(int columns, double share) {
    const model::Machine machine = uncorrected_machine("h200-sxm");
    std::string text = "gpu,op,dtype,m,n,k,l2,launch,software,kernel,measured_us\n";
    for (int column = 1; column <= columns; ++column) {
        for (std::int64_t m = 8; m <= 4096; m *= 2) {
            for (const std::int64_t k : {512, 1024, 4096, 8192}) {
                const model::Matmul op{
                    .m = m, .n = 256 * column, .k = k, .type = model::DataType::fp8};
                model::Execution execution{.launch = model::LaunchMode::graph};
                execution.software = model::SoftwareChoice::named("vllm-0.24.0");
                const auto p = std::get<model::Prediction>(model::predict(op, execution, machine));
                const double factor = std::exp(share * (std::log2(static_cast<double>(m)) - 6.0));
                text += fmt::format(
                    "h200-sxm,matmul,fp8,{},{},{},warm,graph,vllm-0.24.0,"
                    "CutlassFP8ScaledMMLinearKernel,{}\n",
                    m, op.n, k, p.time.in(units::us)*factor);
            }
        }
    }
    return text;
}

std::vector<FitReport> reports_of(const std::string& table) {
    const TemporaryFolder folder;
    folder.write("engine_matmul_h200-sxm.csv", table);
    return fit_engine_correction(
        {.data = folder.path(), .gpus = {"h200-sxm"}, .machine = uncorrected_machine});
}

}  // namespace

TEST_CASE("the fit of a kernel's correction finds what the law leaves", "[fit][residual]") {
    const auto reports = reports_of(products_of_kernel(10, 0.03));
    REQUIRE(reports.size() == 1);
    const FitReport& report = reports[0];
    CHECK(report.name == "h200-sxm " + corrected_section);
    REQUIRE(report.parameters.size() == model::correction_fields.size());
    for (std::size_t i = 0; i < report.parameters.size(); ++i) {
        CHECK(report.parameters[i].field ==
              corrected_section + '.' + std::string(model::correction_fields[i].name));
    }
    const double before = report.described.back().errors.mean;
    CHECK(before > 0.04);
    CHECK(report.cross_validated.back().errors.mean < 0.3 * before);
    // The band narrows with what is left.
    const model::Machine machine = uncorrected_machine("h200-sxm");
    for (const model::EngineKernel& each : machine.engine) {
        if (each.recipe->section != corrected_section) continue;
        CHECK(report.parameters[3].number < each.band_below);
        CHECK(report.parameters[4].number < each.band_above);
    }
}

TEST_CASE("a kernel without residuals, or with few rows, gets no correction", "[fit][residual]") {
    const auto exact = reports_of(products_of_kernel(10, 0.0));
    REQUIRE(exact.size() == 1);
    CHECK(exact[0].parameters.empty());
    CHECK(reports_of(products_of_kernel(3, 0.03)).empty());
}

}  // namespace ridge::measure
