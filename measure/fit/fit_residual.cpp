#include "measure/fit/fit_residual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "measure/fit/boosted_trees.h"
#include "measure/fit/leaf_values.h"
#include "measure/fit/residual_samples.h"
#include "measure/statistics/quantile.h"
#include "model/core/fields.h"
#include "model/predict.h"
#include "model/residual/correction.h"
#include "model/roof/band.h"
#include "model/roof/width.h"

namespace ridge::measure {
namespace {

using model::ResidualClass;
using model::ResidualFit;

constexpr double least_gain = 0.05;  ///< fraction of the error that a correction must remove

/// The bounding box of the samples' features.
void set_range(const FitSamples& samples, ResidualFit& fit) {
    for (std::size_t i = 0; i < model::most_residual_features; ++i) {
        fit.range.least[i] = fit.range.most[i] = samples[0].features.values[i];
        for (const FitSample& each : samples) {
            const double value = each.features.values[i];
            fit.range.least[i] = std::min(fit.range.least[i], value);
            fit.range.most[i] = std::max(fit.range.most[i], value);
        }
    }
}

/// Trees as options grow them, and the pulls at which their values may be fitted together.
struct Candidate {
    TreeOptions options;
    std::vector<double> pulls;
};

/// Trees grown on these rows alone; and those of a related GPU, as they are and moved more and more.
std::vector<Candidate> candidates_of(const FitSamples& samples, const ResidualFit* start) {
    constexpr double as_they_are = std::numeric_limits<double>::infinity();
    constexpr double far = 8.0;
    constexpr double near = 32.0;
    constexpr double very_near = 256.0;
    std::vector<Candidate> all{{.options = {}, .pulls = {far, near}}};
    if (start != nullptr) {
        Candidate& related = all.emplace_back();
        related.options.start = trees_of(start->forest);
        related.options.trees = std::max(related.options.trees, related.options.start.size());
        related.pulls = {as_they_are, very_near, near, far};
    }
    const double largest = model::largest_correction(samples[0].features.residual_class);
    for (Candidate& each : all) {
        each.options.outlier *= std::max(1.0, std::log(largest) / std::log(1.5));
    }
    return all;
}

double error_of(const TreeProblem& out, const std::vector<BoostedTree>& trees, double largest) {
    double error = 0.0;
    for (std::size_t row = 0; row < out.values.size(); ++row) {
        double sum = 0.0;
        for (const BoostedTree& tree : trees) sum += value_of(tree, out, row);
        error += std::abs(out.values[row] - std::clamp(sum, -largest, largest));
    }
    return error;
}

/// Errors on held-out families for each pull, and for each number of trees.
std::vector<std::vector<double>> held_out_errors(const FitSamples& samples,
                                                 const TreeOptions& options,
                                                 const std::vector<double>& pulls,
                                                 const std::vector<std::size_t>& counts) {
    const std::vector<std::string> gpus = gpus_of(samples);
    const double largest = std::log(model::largest_correction(samples[0].features.residual_class));
    std::vector<std::vector<double>> errors(pulls.size(), std::vector<double>(counts.size()));
    for (std::uint64_t fold = 0; fold < folds; ++fold) {
        const auto is_out = [&](const FitSample& each) { return each.family % folds == fold; };
        const FitSamples out = part_of(samples, is_out);
        const FitSamples known =
            part_of(samples, [&](const FitSample& each) { return !is_out(each); });
        if (out.empty() || known.empty()) continue;
        const TreeProblem others = problem_of(out, gpus);
        const TreeProblem problem = problem_of(known, gpus);
        const LeafFit fit(problem, boosted_trees(problem, options), options.outlier,
                          options.start.size());
        for (std::size_t i = 0; i < pulls.size(); ++i) {
            for (std::size_t j = 0; j < counts.size(); ++j) {
                errors[i][j] += error_of(others, fit.values(counts[j], pulls[i]), largest);
            }
        }
    }
    return errors;
}

/// The numbers of trees to try: steps of four, which begin with a related GPU's trees.
std::vector<std::size_t> counts_of(const TreeOptions& options) {
    constexpr std::size_t step = 4;
    std::vector<std::size_t> counts;
    for (std::size_t count = options.start.size(); count <= options.trees; count += step) {
        counts.push_back(count);
    }
    return counts;
}

/// The candidate and the pull with the least error on held-out families at half the trees, then the number of
/// trees; fewer if they cost less than half a hundredth, or for classes that rest on records a tenth of a point.
TreeOptions options_of(const FitSamples& samples, const ResidualFit* start) {
    constexpr double worth = 0.005;
    const bool few = model::rests_on_records(samples[0].features.residual_class);
    const double point = few ? 0.001 : 0.0;
    TreeOptions best;
    double least = std::numeric_limits<double>::infinity();
    for (const Candidate& each : candidates_of(samples, start)) {
        TreeOptions half = each.options;
        half.trees = std::max(half.trees / 2, half.start.size());
        const auto errors = held_out_errors(samples, half, each.pulls, {half.trees});
        for (std::size_t i = 0; i < each.pulls.size(); ++i) {
            if (errors[i][0] >= least) continue;
            least = errors[i][0];
            best = each.options;
            best.leaves = each.pulls[i];
        }
    }
    if (std::isinf(best.leaves)) best.trees = best.start.size();
    const std::vector<std::size_t> counts = counts_of(best);
    const std::vector<double> errors = held_out_errors(samples, best, {best.leaves}, counts)[0];
    const double lowest = *std::min_element(errors.begin(), errors.end());
    const double most =
        std::max((1.0 + worth) * lowest, lowest + point * static_cast<double>(samples.size()));
    const auto enough =
        std::find_if(errors.begin(), errors.end(), [most](double error) { return error <= most; });
    best.trees = counts[static_cast<std::size_t>(enough - errors.begin())];
    return best;
}

/// Widens the bounding box to cover both.
void widen(ResidualFit& fit, const ResidualFit& other) {
    for (std::size_t i = 0; i < model::most_residual_features; ++i) {
        fit.range.least[i] = std::min(fit.range.least[i], other.range.least[i]);
        fit.range.most[i] = std::max(fit.range.most[i], other.range.most[i]);
    }
}

/// The correction of each GPU from these samples.
std::map<std::string, ResidualFit> corrections_of(const FitSamples& samples,
                                                  const TreeOptions& options,
                                                  const ResidualFit* start) {
    ResidualFit box{.implementation = samples[0].implementation, .range = {}, .forest = {}};
    if (model::has_kernel_feature(samples[0].features.residual_class)) {
        box.implementation = model::Implementation::automatic;
    }
    set_range(samples, box);
    if (!options.start.empty()) widen(box, *start);
    const std::vector<std::string> gpus = gpus_of(samples);
    const std::vector<BoostedTree> trees = fitted_trees(problem_of(samples, gpus), options);
    std::map<std::string, ResidualFit> fits;
    for (std::size_t part = 0; part < gpus.size(); ++part) {
        ResidualFit fit = box;
        fit.forest = forest_of(trees, part);
        fits.emplace(gpus[part], std::move(fit));
    }
    return fits;
}

using Fits = std::map<std::string, ResidualFit>;
using ErrorsByGpu = std::map<std::string, std::vector<TimeError>>;
using RowsByGpu = std::map<std::string, std::vector<HeldOutRow>>;

/// By what factor the band of the class must be widened to contain the measured time. Margins for
/// GPUs that were not measured do not count: a GPU with a correction was measured.
double width_needed(const HeldOutRow& out) {
    const model::BandRow& row = model::band_row(out.band_class);
    const double off = out.ratio - 1.0;
    double width = model::width_at(out.band_class, out.time);
    if (out.of_own_kernel) width *= model::width_of_kernel(out.kind, out.implementation);
    return off / (width * std::expm1(off > 0.0 ? row.high : row.low));
}

HeldOutRow held_out_row(const FitSample& sample, const model::Prediction& p) {
    const ResidualClass residual_class = sample.features.residual_class;
    return {.band_class = p.band_class,
            .kind = model::kind_of(sample.row->operation),
            .implementation = p.implementation,
            .of_own_kernel =
                model::has_kernel_feature(residual_class) && !model::is_torch(residual_class),
            .time = p.time / p.correction,
            .ratio = sample.row->measured / p.time,
            .half = sample.family % 2 == 0};
}

/// Adds the errors of these samples, each with the correction of its GPU; null: without
/// corrections.
void add_time_errors(const FitSamples& samples, AnalyticMachines& machines, const Fits* fits,
                     ErrorsByGpu& errors, RowsByGpu* rows = nullptr) {
    for (const std::string& gpu : gpus_of(samples)) {
        model::Machine machine = machines.at(gpu);
        if (fits != nullptr && fits->contains(gpu)) {
            auto residuals = std::make_shared<model::Residuals>();
            residuals->set(samples[0].features.residual_class, fits->at(gpu));
            machine.residuals = std::move(residuals);
        }
        for (const FitSample& each : samples) {
            if (each.row->gpu != gpu) continue;
            const model::Outcome outcome =
                model::predict(each.row->operation, each.row->execution, machine);
            const auto& p = std::get<model::Prediction>(outcome);
            errors[gpu].push_back({.ratio = p.time / each.row->measured,
                                   .inside = model::in_band(p, each.row->measured)});
            // Bands of shapes outside the measured range are wider already.
            const bool usual = model::noted<model::note::Extrapolated>(p) == nullptr;
            if (rows && usual) (*rows)[gpu].push_back(held_out_row(each, p));
        }
    }
}

/// What a correction is judged by: errors without it, errors with it on rows that it did not use,
/// and on the same rows when it did use them.
struct Judgement {
    ErrorsByGpu before;
    ErrorsByGpu after;
    ErrorsByGpu inside;
    RowsByGpu rows;  ///< rows that it did not use
};

/// Judges by a third of the shapes. If rows are as few as records are, judges by five folds of
/// whole families, each corrected by options and a fit that come from the other four.
Judgement judged(const FitSamples& samples, const FitSamples& seen, const Fits& whole,
                 const TreeOptions& options, const ResidualFit* start, AnalyticMachines& machines) {
    Judgement errors;
    const auto judge = [&](const FitSamples& out, const FitSamples& known,
                           const TreeOptions& chosen) {
        const Fits fits = corrections_of(known, chosen, start);
        add_time_errors(out, machines, nullptr, errors.before);
        add_time_errors(out, machines, &fits, errors.after, &errors.rows);
        add_time_errors(out, machines, &whole, errors.inside);
    };
    if (!model::rests_on_records(samples[0].features.residual_class)) {
        const FitSamples out = part_of(samples, [](const FitSample& s) { return s.held_out; });
        if (!out.empty()) judge(out, seen, options);
        return errors;
    }
    for (std::uint64_t fold = 0; fold < folds; ++fold) {
        const auto is_out = [&](const FitSample& each) { return each.family % folds == fold; };
        const FitSamples out = part_of(samples, is_out);
        const FitSamples known =
            part_of(samples, [&](const FitSample& each) { return !is_out(each); });
        if (!out.empty() && !known.empty()) judge(out, known, options_of(known, start));
    }
    return errors;
}

ErrorSummary summary_of(const ErrorsByGpu& errors, const std::string& gpu) {
    const auto found = errors.find(gpu);
    return found == errors.end() ? ErrorSummary{} : summarise_errors(found->second);
}

/// FitSamples of the GPU's most frequent implementation; a correction applies to only one.
FitSamples of_one_implementation(const FitSamples& samples) {
    if (model::has_kernel_feature(samples[0].features.residual_class)) return samples;
    std::map<model::Implementation, std::size_t> counts;
    for (const FitSample& each : samples) ++counts[each.implementation];
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return part_of(samples, [&](const FitSample& s) { return s.implementation == most->first; });
}

constexpr double least_spread = 0.2;

/// The spread rounded as descriptions write it.
double rounded_spread(double spread, double most) {
    constexpr double digits = 1e2;
    return std::clamp(std::floor(spread * digits) / digits, least_spread, most);
}

/// The share of the residuals' spread that remains with a correction. It lies between the spread of
/// rows that the fit did not use and that of the same rows when it did, as new rows lie close to
/// known ones.
double spread_of_tables(const ErrorSummary& before, const ErrorSummary& after,
                        const ErrorSummary& inside) {
    const double whole = before.log_high - before.log_low;
    if (!(whole > 0.0)) return 1.0;
    const double widths =
        std::sqrt((after.log_high - after.log_low) * (inside.log_high - inside.log_low));
    return rounded_spread(widths / whole, 1.0);
}

/// The width at which the bands of a class contain the intended share of the held-out rows.
double spread_of_records(const std::vector<HeldOutRow>& rows) {
    if (rows.empty()) return 1.0;
    std::vector<double> widths(rows.size());
    std::transform(rows.begin(), rows.end(), widths.begin(), width_needed);
    constexpr double share = 0.82;
    constexpr double most = 2.0;
    std::sort(widths.begin(), widths.end());
    return rounded_spread(quantile(widths, share), most);
}

/// The correction whose trees a fit of these samples may build on; null if there is none.
const ResidualFit* start_of(const FitSamples& samples, const model::Residuals& start) {
    const ResidualClass residual_class = samples[0].features.residual_class;
    const ResidualFit* const fit = start.find(residual_class);
    const bool holds = fit != nullptr && gpus_of(samples).size() == 1 &&
                       (model::has_kernel_feature(residual_class) ||
                        fit->implementation == samples[0].implementation);
    return holds ? fit : nullptr;
}

std::vector<ResidualReport> fit_class(ResidualClass residual_class, const FitSamples& all,
                                      const model::Residuals& starts, AnalyticMachines& machines) {
    const FitSamples samples = of_one_implementation(all);
    const ResidualFit* const start = start_of(samples, starts);
    std::map<std::string, std::size_t> rows;
    for (const FitSample& each : samples) ++rows[each.row->gpu];
    std::vector<ResidualReport> reports;
    const auto few = std::any_of(rows.begin(), rows.end(), [](const auto& each) {
        return each.second < fewest_residual_rows;
    });
    TreeOptions options;
    Fits whole;
    Judgement errors;
    if (!few) {
        const FitSamples seen = part_of(samples, [](const FitSample& s) { return !s.held_out; });
        options = options_of(model::rests_on_records(residual_class) ? samples : seen, start);
        whole = corrections_of(samples, options, start);
        errors = judged(samples, seen, whole, options, start, machines);
    }
    for (const auto& [gpu, count] : rows) {
        ResidualReport report;
        report.gpu = gpu;
        report.residual_class = residual_class;
        report.rows = count;
        report.pull = options.leaves;
        if (few) {
            report.kept_because = fmt::format("fewer than {} rows", fewest_residual_rows);
        } else {
            report.before = summary_of(errors.before, gpu);
            report.after = summary_of(errors.after, gpu);
            report.held_out = static_cast<std::size_t>(report.before.count);
            report.fit = whole.at(gpu);
            const ErrorSummary inside = summary_of(errors.inside, gpu);
            report.fit.spread = model::rests_on_records(residual_class)
                                    ? spread_of_records(errors.rows[gpu])
                                    : spread_of_tables(report.before, report.after, inside);
            if (report.fit.forest.empty() ||
                report.after.mean > (1.0 - least_gain) * report.before.mean) {
                report.fit.forest = {};
                report.kept_because = "the error of held-out rows falls by less than 5 %";
            }
            report.rows_held_out = std::move(errors.rows[gpu]);
        }
        reports.push_back(std::move(report));
    }
    return reports;
}

}  // namespace

std::vector<ResidualReport> fit_residuals(const FitRequest& request, const model::Residuals& start,
                                          std::span<const std::string> keep) {
    const std::vector<MeasuredRow> rows = residual_rows(request);
    AnalyticMachines machines(request);
    std::vector<ResidualReport> reports;
    std::map<std::string, std::vector<MeasuredRow>> alone;
    if (request.gpus.empty()) {
        for (const MeasuredRow& row : rows) alone[row.gpu].push_back(row);
    } else {
        alone.emplace("", rows);
    }
    for (const auto& [name, part] : alone) {
        for (const auto& [residual_class, samples] : residual_samples(part, machines)) {
            if (std::find(keep.begin(), keep.end(), name_of(residual_class)) != keep.end())
                continue;
            for (ResidualReport& report : fit_class(residual_class, samples, start, machines)) {
                reports.push_back(std::move(report));
            }
        }
    }
    return reports;
}

}  // namespace ridge::measure
