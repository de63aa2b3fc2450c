// Every fit that measured rows of one GPU allow, one on top of the other, and which of them to keep.
//
//   const AllFits fits = fit_all(request, "h100-sxm");
//   for (const FitStep& step : fits.steps)
//       step.report.name, step.before.mean, step.after.mean, step.kept_because
//   overlay_text(header, fitted_sections(fits))      // fields of what was taken, with source = "FIT"
//
// Method. Each fitting program (`fit_programs`) that reads such rows is run with the parameters that
// the ones before it left, drawn to the described values (`Prior::family`). Its values are taken
// when rows that it did not see come out better than by the description: the cross-validated mean
// error is below that of the description with its corrections. Otherwise, or with fewer than
// `fewest_fit_rows` rows, the description keeps its values, and the step says why. A parameter that
// the rows do not determine keeps its value within a step that is taken. A correction that no longer
// helps the rows of its class is dropped; classes without one are given one where `fit_residuals`
// finds it worth its terms.
//
// Limits: a class is a fit's, so rows of few shapes of one kernel say nothing of its others.
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
    ErrorSummary before{};       ///< of the rows, as the description has it
    ErrorSummary after{};        ///< cross-validated
    std::string kept_because{};  ///< why the description keeps its values; empty where it does not
};

struct AllFits {
    std::string gpu;
    std::vector<FitStep> steps;
    std::vector<ResidualReport> corrections;           ///< of classes that had none
    std::set<model::ResidualClass> dropped;            ///< corrections that no longer help
    std::map<std::string, std::int64_t> not_modelled;  ///< rows of no known kernel, by operation
    std::int64_t rows = 0;                             ///< of this GPU
    std::set<std::uint64_t> seeds;                     ///< of random shapes among them
    model::Machine machine;                            ///< with what was taken
};

/// `request.gpus` does not count: rows of `gpu` do. InputError when there are none, or a table or
/// record cannot be understood.
[[nodiscard]] AllFits fit_all(const FitRequest& request, const std::string& gpu);

/// What was taken as sections of an overlay, fields with source = "FIT"; comments say how good each
/// fit is and what keeps its values.
[[nodiscard]] std::string fitted_sections(const AllFits& fits);

}  // namespace ridge::measure
