// Runs every fit that measured rows of one GPU allow, each on top of the last, and decides which to
// keep.
//
//   const AllFits fits = fit_all(request, "h100-sxm");
//   for (const FitStep& step : fits.steps)
//       step.report.name, step.before.mean, step.after.mean, step.kept_because
//   overlay_text(header, fitted_sections(fits))      // accepted fields, with source = "FIT"
//
// Method. Each fitting program (`fit_programs`) that reads such rows starts from the parameters
// that the programs before it left, and pulls them towards the described values (`Prior::family`).
// Its values are accepted when they predict held-out rows better than the description does: the
// cross-validated mean error is below that of the description with its corrections. Otherwise, or
// with fewer than `fewest_fit_rows` rows, the description keeps its values, and the step says why.
// In an accepted step, a parameter that the rows do not determine keeps its value. A correction
// that no longer helps the rows of its class is dropped. Classes without a correction get one if
// `fit_residuals` finds that it is worth its terms.
//
// Limits: a class is that of a fit, so rows with few shapes of one kernel say nothing about its
// other shapes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/fit/fit.h"
#include "measure/fit/fit_residual.h"

namespace ridge::measure {

inline constexpr std::int64_t fewest_fit_rows = 12;

struct FitStep {
    std::string program;
    FitReport report;
    ErrorSummary before{};       ///< errors of the rows with the described values
    ErrorSummary after{};        ///< cross-validated
    std::string kept_because{};  ///< why the description keeps its values; empty if it does not
};

struct AllFits {
    std::string gpu;
    std::vector<FitStep> steps;
    std::vector<ResidualReport> corrections;  ///< corrections of classes that had none
    std::set<model::ResidualClass> dropped;   ///< corrections that no longer help
    std::map<std::string, std::int64_t>
        not_modelled;               ///< number of rows of no known kernel, by operation
    std::int64_t rows = 0;          ///< number of rows of this GPU
    std::set<std::uint64_t> seeds;  ///< seeds of random shapes among them
    model::Machine machine;         ///< with the accepted values
};

/// Fits the rows of `gpu`; `request.gpus` is ignored. InputError when there are none, or when a
/// table or record cannot be understood.
[[nodiscard]] AllFits fit_all(const FitRequest& request, const std::string& gpu);

/// Fits the kernels of the engines in `request.read` to those rows of `gpu`, each from the values that it
/// has, to which few rows are pulled. Rows whose kernel no file describes count as not modelled.
[[nodiscard]] AllFits fit_engine_rows(const FitRequest& request, const std::string& gpu);

/// The accepted values as sections of an overlay, fields with source = "FIT". Comments say how good
/// each fit is and why others keep their values.
[[nodiscard]] std::string fitted_sections(const AllFits& fits);

}  // namespace ridge::measure
