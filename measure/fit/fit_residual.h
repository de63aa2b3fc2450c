// Fits the residual correction (docs/model.md K1 to K4) to measured rows and says what it is worth.
//
//   for (const ResidualReport& r : fit_residuals(request))
//       r.gpu, r.before.mean, r.after.mean   // of a third of the shapes that the fit did not see
//   residual_overlay(reports, "h100-sxm", source)   // a description that lies over the GPU's
//
// Method. Rows are predicted by the analytic model; y = ln(measured / predicted), held to 0.25.
// `boosted_trees.h` fits trees over a class's features; their number is that of the least error over
// five folds of whole families of shapes (rows of one n and k, of one batch and heads, of one
// expert). GPUs named together share the trees: each one's values are drawn to those of all together as
// strongly as held-out families bear out. One GPU alone may start from the trees of a relative. The
// figures are of a third of the shapes, by a hash of the operation, that neither choice nor values have
// seen; of classes that rest on records, whose rows are fewer, of five folds of whole families, each
// corrected by a fit to the other four. What is written is then fitted to all rows.
//
// Limits: a class with fewer than `fewest_residual_rows` rows of a GPU, or whose error falls by less than 5 %, keeps
// what it had. The data themselves are not kept.
#pragma once

#include <string>
#include <vector>

#include "measure/fit/fit.h"
#include "measure/statistics/error_summary.h"
#include "model/machine/residual_parameters.h"

namespace ridge::measure {

inline constexpr std::size_t fewest_residual_rows = 60;

struct ResidualReport {
    std::string gpu;
    model::ResidualClass residual_class = model::ResidualClass::product_16;
    std::size_t rows = 0;
    std::size_t held_out = 0;  ///< of them, for the figures; all in five folds
    ErrorSummary before;       ///< of the held-out rows, by the analytic model
    ErrorSummary after;
    double share = 0.0;        ///< rows that draw its values to those of all GPUs
    model::ResidualFit fit;    ///< to all rows; without trees where it keeps what it had
    std::string kept_because;  ///< why; empty where there is a correction
};

/// One report for each class and GPU, classes first; none where there are no rows of a class.
/// `start`: corrections on whose trees those of a GPU fitted alone may build, where its rows bear that out.
[[nodiscard]] std::vector<ResidualReport> fit_residuals(const FitRequest& request,
                                                        const model::Residuals& start = {});

/// The corrections of one GPU as sections of a description, fields with source = "FIT".
[[nodiscard]] std::string residual_sections(const std::vector<ResidualReport>& reports,
                                            const std::string& gpu);

/// The same as an overlay description; `source` says what they rest on.
[[nodiscard]] std::string residual_overlay(const std::vector<ResidualReport>& reports,
                                           const std::string& gpu, const std::string& source);

}  // namespace ridge::measure
