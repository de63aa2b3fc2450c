// Fits the residual correction (docs/model.md K1 to K4) to measured rows and reports its benefit.
//
//   for (const ResidualReport& r : fit_residuals(request))
//       r.gpu, r.before.mean, r.after.mean   // of a third of the shapes, which the fit did not use
//   residual_overlay(reports, "h100-sxm", source)   // an overlay for the GPU's description
//
// Method. The analytic model predicts the rows; y = ln(measured / predicted), clamped to 0.25.
// `boosted_trees.h` grows trees over the features of a class, and `leaf_values.h` fits their values
// together. Their pull and the number of trees are those with the least error over five folds of whole
// families of shapes (rows with the same n and k, the same batch and heads, or the same expert). GPUs named
// together share the trees; the values of each are pulled towards those of all GPUs. A single GPU may start
// from the trees of a related one. The reported errors are those of a third of the shapes, chosen
// by a hash of the operation, that neither the choice of options nor the values used. For classes
// that rest on records, which have fewer rows, they are those of five folds of whole families, each
// corrected by a fit to the other four. The final correction is then fitted to all rows.
//
// Limits: a class keeps what it had if it has fewer than `fewest_residual_rows` rows of a GPU or if
// its error falls by less than 5 %. The data themselves are not kept.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/fit/fit.h"
#include "measure/statistics/error_summary.h"
#include "model/core/band_class.h"
#include "model/core/fields.h"
#include "model/machine/residual_parameters.h"

namespace ridge::measure {

inline constexpr std::size_t fewest_residual_rows = 60;

/// A row that judged a correction and did not take part in it.
struct HeldOutRow {
    model::BandClass band_class = model::BandClass::roofline;
    model::OperationKind kind{};
    model::Implementation implementation = model::Implementation::automatic;
    bool of_own_kernel = false;  ///< of a correction that holds for all of ridge's kernels
    Time time{};                 ///< of the analytic model
    double ratio = 1.0;          ///< measured over corrected
    bool half = false;           ///< in which half of the families of shapes it is
};

struct ResidualReport {
    std::string gpu;
    model::ResidualClass residual_class = model::ResidualClass::product_16;
    std::size_t rows = 0;
    std::size_t held_out = 0;  ///< rows that the errors rest on; all of them with five folds
    ErrorSummary before;       ///< errors of the analytic model on the held-out rows
    ErrorSummary after;
    double pull = 0.0;         ///< strength, in rows, of the pull on the values of leaves
    model::ResidualFit fit;    ///< fitted to all rows; has no trees if the GPU keeps what it had
    std::string kept_because;  ///< why no correction was made; empty if there is one
    std::vector<HeldOutRow> rows_held_out;  ///< inside the validated range
};

/// One report for each class and GPU, ordered by class; none for a class without rows, or for one whose name
/// is in `keep`. `start` holds corrections whose trees a GPU that is fitted alone may build on, if its rows
/// justify it.
[[nodiscard]] std::vector<ResidualReport> fit_residuals(const FitRequest& request,
                                                        const model::Residuals& start = {},
                                                        std::span<const std::string> keep = {});

/// The corrections of one GPU as sections of a description, fields with source = "FIT".
[[nodiscard]] std::string residual_sections(const std::vector<ResidualReport>& reports,
                                            const std::string& gpu);

/// The same as an overlay description; `source` says what the corrections rest on.
[[nodiscard]] std::string residual_overlay(const std::vector<ResidualReport>& reports,
                                           const std::string& gpu, const std::string& source);

}  // namespace ridge::measure
