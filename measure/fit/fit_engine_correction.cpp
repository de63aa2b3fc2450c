// Fits the residual corrections of engine kernels to what their laws leave of the rows that gave the laws their values
// (docs/model.md G8).
//
// Method: as the corrections of libraries (`fit_residual.h`, K4), but kernel by kernel and with at most
// `most_kernel_trees` trees. Their number and their pull are those with the least error over five folds of whole pairs of
// n and k, heads or shapes; fewer if they cost less than a hundredth. The band is the law's, changed as the quantiles
// of what the rows of a fold leave with a correction that did not see them.
//
// Limits: none for fewer than `fewest_corrected_rows` rows, or if the error of held-out families falls by less than six
// hundredths. Calls that wait for the host do not count. The law's values saw all rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hardware/text_hash.h"
#include "measure/fit/boosted_trees.h"
#include "measure/fit/engine_rows.h"
#include "measure/fit/fit.h"
#include "measure/fit/leaf_values.h"
#include "measure/fit/left_out.h"
#include "measure/record/overlay_text.h"
#include "measure/statistics/quantile.h"
#include "model/machine/schema.h"
#include "model/predict.h"
#include "model/residual/kernel_correction.h"

namespace ridge::measure {
namespace {

constexpr std::size_t most_kernel_trees = 8;
constexpr std::size_t tree_step = 2;
constexpr std::size_t fewest_corrected_rows = 100;
constexpr double least_correction_gain = 0.06;  ///< part of the error that a correction must remove
constexpr double worth_of_trees = 0.01;         ///< part of it for which more trees do not pay
constexpr double most_kernel_residual = 0.56;   ///< in ln
constexpr std::array<double, 2> kernel_pulls{8.0, 32.0};

struct KernelSample {
    model::FeatureValues features{};
    double residual = 0.0;  ///< ln(measured / predicted)
    std::uint64_t fold = 0;
};
using KernelSamples = std::vector<KernelSample>;

KernelSamples kernel_samples(const EngineKernelRows& kernel) {
    KernelSamples samples;
    const auto slots = static_cast<double>(kernel.machine.sm_count);
    for (const MeasuredRow& row : kernel.rows) {
        const model::Outcome outcome = model::predict(row.operation, row.execution, kernel.machine);
        const auto* const p = std::get_if<model::Prediction>(&outcome);
        if (p == nullptr || model::noted<model::note::HostBound>(*p) != nullptr) continue;
        samples.push_back(
            {.features = model::kernel_correction_features(row.operation, p->tiling, slots),
             .residual = std::log(row.measured / p->time),
             .fold = upper_half(text_hash(fold_of_shape(row))) % folds});
    }
    return samples;
}

TreeProblem kernel_problem(const KernelSamples& samples, std::size_t features) {
    TreeProblem problem;
    problem.features.resize(features);
    for (const KernelSample& each : samples) {
        for (std::size_t i = 0; i < features; ++i) {
            problem.features[i].push_back(each.features[i]);
        }
        problem.values.push_back(
            std::clamp(each.residual, -most_kernel_residual, most_kernel_residual));
        problem.parts.push_back(0);
    }
    return problem;
}

/// What trees leave of the samples.
std::vector<double> left_by(const std::vector<BoostedTree>& trees, const KernelSamples& samples,
                            const TreeProblem& problem) {
    std::vector<double> left;
    for (std::size_t row = 0; row < samples.size(); ++row) {
        double residual = samples[row].residual;
        for (const BoostedTree& tree : trees) residual -= value_of(tree, problem, row);
        left.push_back(residual);
    }
    return left;
}

double mean_size(const std::vector<double>& values) {
    double sum = 0.0;
    for (const double each : values) sum += std::abs(each);
    return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

/// A number of trees, how strongly their values are pulled to 0, and what they leave of held-out families.
struct TreeChoice {
    std::size_t trees = 0;
    double pull = kernel_pulls[0];
    std::vector<double> left{};
};

/// Every choice, by pull and rising number of trees.
std::vector<TreeChoice> tried_choices(const KernelSamples& samples, std::size_t features,
                                      const TreeOptions& options) {
    std::vector<TreeChoice> all;
    for (const double pull : kernel_pulls) {
        for (std::size_t trees = 0; trees <= options.trees; trees += tree_step) {
            all.push_back({.trees = trees, .pull = pull});
        }
    }
    for (std::uint64_t fold = 0; fold < folds; ++fold) {
        KernelSamples known;
        KernelSamples out;
        for (const KernelSample& each : samples) (each.fold == fold ? out : known).push_back(each);
        if (known.empty() || out.empty()) continue;
        const TreeProblem problem = kernel_problem(known, features);
        const TreeProblem others = kernel_problem(out, features);
        const LeafFit fit(problem, boosted_trees(problem, options), options.outlier);
        for (TreeChoice& each : all) {
            const auto trees = fit.values(std::min(each.trees, fit.size()), each.pull);
            for (const double left : left_by(trees, out, others)) each.left.push_back(left);
        }
    }
    return all;
}

/// The fewest trees among those that leave hardly more than the least; none if they gain too little.
TreeChoice best_choice(const std::vector<TreeChoice>& all) {
    const double without = mean_size(all.front().left);
    double lowest = std::numeric_limits<double>::infinity();
    for (const TreeChoice& each : all) lowest = std::min(lowest, mean_size(each.left));
    if (lowest >= (1.0 - least_correction_gain) * without) return all.front();
    const TreeChoice* best = nullptr;
    for (const TreeChoice& each : all) {
        if (mean_size(each.left) > lowest + worth_of_trees * without) continue;
        if (best == nullptr || each.trees < best->trees) best = &each;
    }
    return *best;
}

model::ResidualRange range_of(const TreeProblem& problem) {
    model::ResidualRange range;
    for (std::size_t i = 0; i < problem.features.size(); ++i) {
        const auto [least, most] =
            std::minmax_element(problem.features[i].begin(), problem.features[i].end());
        range.least[i] = *least;
        range.most[i] = *most;
    }
    return range;
}

/// The half-width of the band on the side where `sign` times the residual lies, from the law's and the quantiles
/// of what is left without and with the correction.
double half_width(double law, std::vector<double> without, std::vector<double> with, double sign) {
    constexpr double tail = 0.9;
    constexpr double least = 0.01;  // in ln
    const auto reaches = [sign, least](std::vector<double>& values) {
        for (double& each : values) each *= sign;
        std::sort(values.begin(), values.end());
        return std::max(quantile(values, tail), least);
    };
    return std::max(law * reaches(with) / reaches(without), least);
}

void add_correction(const EngineKernelRows& kernel, const model::KernelCorrection& correction,
                    FitReport& report) {
    const auto texts = correction_texts(kernel.features(), correction);
    const std::array<double, 2> widths{correction.below, correction.above};
    for (std::size_t i = 0; i < model::correction_fields.size(); ++i) {
        FittedParameter& field = report.parameters.emplace_back();
        field.field = kernel.section + '.' + std::string(model::correction_fields[i].name);
        if (i < texts.size()) {
            field.value = quoted_toml(texts[i]);
        } else {
            field.number = widths[i - texts.size()];
            field.value = toml_value(*model::schema().find(field.field), field.number);
        }
    }
}

std::vector<ResidualSummary> summary_of(const std::string& name, const std::vector<double>& left) {
    std::vector<Residual> residuals;
    for (const double each : left) {
        residuals.push_back({.group = name, .error = {.ratio = std::exp(-each), .inside = false}});
    }
    return summarise(residuals);
}

FitReport report_of(const EngineKernelRows& kernel) {
    FitReport report;
    report.name = kernel.gpu + " " + kernel.section;
    report.status = FitStatus::converged;
    const KernelSamples samples = kernel_samples(kernel);
    const std::size_t features = kernel.features().size();
    if (features == 0 || samples.size() < fewest_corrected_rows) return report;
    TreeOptions options;
    options.trees = most_kernel_trees;
    const std::vector<TreeChoice> tried = tried_choices(samples, features, options);
    const TreeChoice choice = best_choice(tried);
    report.described = summary_of(report.name, tried.front().left);
    report.cross_validated = summary_of(report.name, choice.left);
    if (choice.trees == 0) return report;
    const TreeProblem problem = kernel_problem(samples, features);
    const LeafFit fit(problem, boosted_trees(problem, options), options.outlier);
    const auto trees = fit.values(std::min(choice.trees, fit.size()), choice.pull);
    report.fitted = summary_of(report.name, left_by(trees, samples, problem));
    const model::EngineKernel& law = kernel.kernel();
    const std::vector<double>& without = tried.front().left;
    add_correction(kernel,
                   {.range = range_of(problem),
                    .forest = forest_of(trees, 0),
                    .below = half_width(law.band_below, without, choice.left, -1.0),
                    .above = half_width(law.band_above, without, choice.left, 1.0)},
                   report);
    return report;
}

}  // namespace

std::vector<FitReport> fit_engine_correction(const FitRequest& request) {
    std::vector<FitReport> reports;
    if (request.only_names) return reports;
    for (EngineKernelRows& each : engine_kernel_rows(request)) {
        each.drop_correction();
        FitReport report = report_of(each);
        if (!report.described.empty()) reports.push_back(std::move(report));
    }
    return reports;
}

}  // namespace ridge::measure
