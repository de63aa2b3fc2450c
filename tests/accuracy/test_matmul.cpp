// Predicted times of library matrix products against public measurements, within bounds.toml.
//
// The tables are not part of the project: RIDGE_REFERENCE names their folder, in the environment or
// in the build's cache; without it the test says that the data are absent and is skipped. A table
// has the columns of `ridge predict --from` and `measured_us`.
#include <toml++/toml.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "hardware/catalogue.h"
#include "measure/fit/residuals.h"
#include "measure/fit/rows.h"
#include "model/predict.h"
#include "tests/catch.h"

using namespace ridge;

namespace {

std::string reference_folder() {
    const char* const named = std::getenv("RIDGE_REFERENCE");
    return named != nullptr ? named : RIDGE_REFERENCE_FOLDER;
}

/// Residuals by "dtype.gpu".
std::vector<measure::ResidualSummary> residuals_of(const std::vector<measure::MeasuredRow>& rows) {
    const hardware::Catalogue catalogue = hardware::Catalogue::embedded();
    std::map<std::string, model::Machine> machines;
    std::vector<measure::Residual> residuals;
    for (const measure::MeasuredRow& row : rows) {
        if (!machines.contains(row.gpu)) {
            machines.emplace(row.gpu, model::make_machine(catalogue.at(row.gpu)));
        }
        const model::Outcome outcome =
            model::predict(row.operation, row.execution, machines.at(row.gpu));
        const auto* const p = std::get_if<model::Prediction>(&outcome);
        REQUIRE(p != nullptr);
        residuals.push_back(
            {.group = std::string(model::name_of(model::type_of(row.operation))) + "." + row.gpu,
             .ratio = p->time / row.measured,
             .inside = p->low <= row.measured && row.measured <= p->high});
    }
    return measure::summarise(residuals);
}

}  // namespace

TEST_CASE("library matrix products are predicted within their bounds") {
    const std::string folder = reference_folder();
    if (folder.empty() || !std::filesystem::exists(folder)) {
        WARN("reference data are absent: set RIDGE_REFERENCE");
        return;
    }
    const toml::table bounds = toml::parse_file(RIDGE_BOUNDS);
    std::size_t held = 0;
    for (const auto& summary : residuals_of(measure::read_folder(folder, {"matmul"}))) {
        const auto bound = bounds.at_path("matmul." + summary.group);
        if (!bound) continue;
        CAPTURE(summary.group, summary.count);
        CHECK(100.0 * summary.mean <= bound["mean"].value_or(0.0));
        CHECK(100.0 * summary.p90 <= bound["p90"].value_or(0.0));
        CHECK(100.0 * summary.coverage >= bound["inside"].value_or(100.0));
        CHECK(summary.coverage <= 0.92);
        ++held;
    }
    CHECK(held > 0);
}
