#include "measure/fit/fit_residual.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "hardware/error.h"
#include "measure/record/record.h"
#include "measure/statistics/sparse_regression.h"
#include "model/predict.h"
#include "model/residual/correction.h"
#include "model/roof/band.h"

namespace ridge::measure {
namespace {

using model::ResidualClass;
using model::ResidualFeatures;
using model::ResidualFit;
using model::ResidualTerm;

constexpr double largest_residual = 0.25;
constexpr std::uint64_t held_out_of = 3;
constexpr double least_gain = 0.06;  ///< of the error, or a correction is not worth its terms
constexpr std::array<double, 4> strengths{4.0, 32.0, 256.0, 1e9};  ///< towards all GPUs' values

/// FNV-1a: the same number on every machine.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return hash ^ (hash >> 29U);
}

/// A row with what the regression sees of it.
struct Sample {
    const MeasuredRow* row;
    model::Implementation implementation;
    ResidualFeatures features;
    double residual = 0.0;
    std::uint64_t family = 0;
    bool held_out = false;
};

using Samples = std::vector<Sample>;

/// Shapes that a library treats alike: they are held out together.
std::string family_of(const model::Operation& operation) {
    if (const auto* op = std::get_if<model::Matmul>(&operation)) {
        return fmt::format("{} {}", op->n, op->k);
    }
    if (const auto* op = std::get_if<model::Attention>(&operation)) {
        return fmt::format("{} {} {}", op->batch, op->heads, op->kv_heads);
    }
    if (const auto* op = std::get_if<model::Mla>(&operation)) {
        return fmt::format("{} {}", op->batch, op->heads);
    }
    const auto& op = std::get<model::Moe>(operation);
    return fmt::format("{} {} {} {} {} {}", op.hidden, op.intermediate, op.topk, op.experts, op.tp,
                       op.ep);
}

/// Machines without corrections, by GPU.
class AnalyticMachines {
  public:
    explicit AnalyticMachines(const FitRequest& request) : request_(request) {}

    const model::Machine& at(const std::string& gpu) {
        auto found = machines_.find(gpu);
        if (found == machines_.end()) {
            model::Machine machine = request_.machine(gpu);
            machine.residuals = nullptr;
            found = machines_.emplace(gpu, std::move(machine)).first;
        }
        return found->second;
    }

  private:
    const FitRequest& request_;
    std::map<std::string, model::Machine> machines_;
};

std::vector<MeasuredRow> rows_of(const FitRequest& request) {
    std::vector<MeasuredRow> rows;
    if (!request.data.empty()) {
        rows = table_rows(request, {"matmul_", "attention_", "mla_", "moe_"});
    }
    if (!request.records.empty()) {
        std::vector<MeasuredRow> more = record_rows(request);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    std::erase_if(rows, [&](const MeasuredRow& row) {
        return !request.gpus.empty() &&
               std::find(request.gpus.begin(), request.gpus.end(), row.gpu) == request.gpus.end();
    });
    return rows;
}

std::map<ResidualClass, Samples> samples_of(const std::vector<MeasuredRow>& rows,
                                            AnalyticMachines& machines) {
    std::map<ResidualClass, Samples> classes;
    for (const MeasuredRow& row : rows) {
        const model::Machine& machine = machines.at(row.gpu);
        const model::Outcome outcome = model::predict(row.operation, row.execution, machine);
        const auto* const prediction = std::get_if<model::Prediction>(&outcome);
        if (prediction == nullptr || prediction->confidence == model::Confidence::roofline)
            continue;
        const auto features =
            model::residual_features_of(row.operation, row.execution, *prediction, machine);
        if (!features) continue;
        const double residual = std::log(row.measured / prediction->time);
        if (!std::isfinite(residual)) {
            throw InputError("a row's time is no number",
                             {row.file, static_cast<int>(row.line), 1});
        }
        classes[features->residual_class].push_back(
            {.row = &row,
             .implementation = prediction->implementation,
             .features = *features,
             .residual = std::clamp(residual, -largest_residual, largest_residual),
             .family = hash_of(family_of(row.operation)),
             .held_out = hash_of(canonical_text(row.operation)) % held_out_of == 0});
    }
    return classes;
}

/// Every candidate term, the constant first.
std::vector<ResidualTerm> candidates(std::size_t features) {
    constexpr std::uint8_t most_of_pair = 3;
    constexpr int most_together = 5;
    std::vector<ResidualTerm> all{{}};
    for (std::uint8_t i = 0; i < features; ++i) {
        for (std::uint8_t a = 1; a <= model::most_residual_degree; ++a) {
            all.push_back({.first = i, .first_degree = a});
        }
        for (auto j = static_cast<std::uint8_t>(i + 1); j < features; ++j) {
            for (std::uint8_t a = 1; a <= most_of_pair; ++a) {
                for (std::uint8_t b = 1; b <= most_of_pair && a + b <= most_together; ++b) {
                    all.push_back({.first = i, .first_degree = a, .second = j, .second_degree = b});
                }
            }
        }
    }
    return all;
}

/// The box of the samples' features.
void set_range(const Samples& samples, ResidualFit& fit) {
    for (std::size_t i = 0; i < fit.range.size(); ++i) {
        fit.range[i] = {samples[0].features.values[i], samples[0].features.values[i]};
        for (const Sample& each : samples) {
            const double value = each.features.values[i];
            fit.range[i].least = std::min(fit.range[i].least, value);
            fit.range[i].most = std::max(fit.range[i].most, value);
        }
    }
}

SparseProblem problem_of(const Samples& samples, const ResidualFit& box,
                         const std::vector<ResidualTerm>& terms) {
    SparseProblem problem;
    for (const ResidualTerm& term : terms) {
        ResidualFit one = box;
        one.terms.clear();
        one.terms.push_back(term);
        one.terms[0].coefficient = 1.0;
        std::vector<double>& column = problem.columns.emplace_back();
        column.reserve(samples.size());
        for (const Sample& each : samples) {
            column.push_back(model::polynomial_of(each.features, one));
        }
    }
    for (const Sample& each : samples) {
        problem.values.push_back(each.residual);
        problem.groups.push_back(each.family);
    }
    return problem;
}

Samples part_of(const Samples& samples, const std::function<bool(const Sample&)>& wanted) {
    Samples part;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(part), wanted);
    return part;
}

double error_of(const SparseProblem& problem, const std::vector<SparseTerm>& terms) {
    double error = 0.0;
    for (std::size_t i = 0; i < problem.values.size(); ++i) {
        double sum = 0.0;
        for (const SparseTerm& term : terms) {
            sum += term.coefficient * problem.columns[term.column][i];
        }
        error += std::abs(problem.values[i] - sum);
    }
    return error;
}

/// What all GPUs together and each by itself give: terms of a class, by GPU.
using Coefficients = std::map<std::string, std::vector<SparseTerm>>;

class SharedFit {
  public:
    SharedFit(const Samples& samples, const ResidualFit& box)
        : samples_(samples),
          box_(box),
          candidates_(
              candidates(model::residual_features(samples[0].features.residual_class).size())) {
        for (const Sample& each : samples) gpus_.insert(each.row->gpu);
    }

    Coefficients run() {
        const SparseProblem whole = problem_of(samples_, box_, candidates_);
        const SparseFit fit =
            sparse_regression(whole, {.most_terms = model::most_residual_terms,
                                      .largest = std::log(model::largest_correction)});
        penalty = fit.lambda;
        std::vector<ResidualTerm> chosen;
        std::vector<SparseTerm> shared;
        for (const SparseTerm& term : fit.terms) {
            shared.push_back({chosen.size(), term.coefficient});
            chosen.push_back(candidates_[term.column]);
        }
        candidates_ = std::move(chosen);
        if (gpus_.size() == 1 || shared.empty()) return for_each_gpu(shared, strengths.back());
        double best = strengths.back();
        double least = std::numeric_limits<double>::infinity();
        for (const double strength : strengths) {
            const double error = held_out_error(shared, strength);
            if (error < least) {
                least = error;
                best = strength;
            }
        }
        return for_each_gpu(shared, best);
    }

    /// The chosen terms, behind `SparseTerm::column`.
    [[nodiscard]] const std::vector<ResidualTerm>& terms() const { return candidates_; }

    double penalty = 0.0;

  private:
    [[nodiscard]] SparseProblem of(const std::string& gpu,
                                   const std::function<bool(const Sample&)>& wanted) const {
        return problem_of(part_of(samples_,
                                  [&](const Sample& each) {
                                      return (gpu.empty() || each.row->gpu == gpu) && wanted(each);
                                  }),
                          box_, candidates_);
    }

    [[nodiscard]] Coefficients for_each_gpu(const std::vector<SparseTerm>& shared,
                                            double strength) const {
        Coefficients all;
        for (const std::string& gpu : gpus_) {
            all[gpu] = drawn_towards(of(gpu, [](const Sample&) { return true; }), shared, strength);
        }
        return all;
    }

    [[nodiscard]] double held_out_error(const std::vector<SparseTerm>& chosen,
                                        double strength) const {
        constexpr std::uint64_t folds = 5;
        std::vector<SparseTerm> zero = chosen;
        for (SparseTerm& term : zero) term.coefficient = 0.0;
        double error = 0.0;
        for (std::uint64_t fold = 0; fold < folds; ++fold) {
            const auto known = [&](const Sample& each) { return each.family % folds != fold; };
            const auto out = [&](const Sample& each) { return each.family % folds == fold; };
            const std::vector<SparseTerm> shared = drawn_towards(of("", known), zero, penalty);
            for (const std::string& gpu : gpus_) {
                error += error_of(of(gpu, out), drawn_towards(of(gpu, known), shared, strength));
            }
        }
        return error;
    }

    const Samples& samples_;
    const ResidualFit& box_;
    std::vector<ResidualTerm> candidates_;
    std::set<std::string> gpus_;
};

/// The correction of each GPU from these samples.
std::map<std::string, ResidualFit> corrections_of(const Samples& samples, double& penalty) {
    ResidualFit box{.implementation = samples[0].implementation, .range = {}, .terms = {}};
    set_range(samples, box);
    SharedFit shared(samples, box);
    std::map<std::string, ResidualFit> fits;
    for (const auto& [gpu, terms] : shared.run()) {
        ResidualFit fit = box;
        for (const SparseTerm& term : terms) {
            ResidualTerm each = shared.terms()[term.column];
            constexpr double digits = 1e4;  // as descriptions write them
            each.coefficient = std::round(term.coefficient * digits) / digits;
            if (!std::isfinite(each.coefficient)) throw InputError("a correction is no number");
            if (each.coefficient != 0.0) fit.terms.push_back(each);
        }
        fits.emplace(gpu, fit);
    }
    penalty = shared.penalty;
    return fits;
}

ErrorSummary errors_of(const Samples& samples, const std::string& gpu, model::Machine machine,
                       ResidualClass residual_class, const ResidualFit* fit) {
    if (fit != nullptr) {
        auto residuals = std::make_shared<model::Residuals>();
        residuals->classes[static_cast<std::size_t>(residual_class)] = *fit;
        machine.residuals = std::move(residuals);
    }
    std::vector<TimeError> errors;
    for (const Sample& each : samples) {
        if (!each.held_out || each.row->gpu != gpu) continue;
        const model::Outcome outcome =
            model::predict(each.row->operation, each.row->execution, machine);
        const auto& p = std::get<model::Prediction>(outcome);
        errors.push_back({.ratio = p.time / each.row->measured,
                          .inside = model::in_band(p, each.row->measured)});
    }
    return errors.empty() ? ErrorSummary{} : summarise_errors(errors);
}

/// Samples of the GPU's most usual implementation: a correction holds for one.
Samples of_one_implementation(const Samples& samples) {
    std::map<model::Implementation, std::size_t> counts;
    for (const Sample& each : samples) ++counts[each.implementation];
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return part_of(samples, [&](const Sample& s) { return s.implementation == most->first; });
}

/// What a correction leaves of the spread of residuals: between that of rows which a fit to the
/// others leaves and that of the same rows when they take part, as new rows lie close to known ones.
double spread_of(const ErrorSummary& before, const ErrorSummary& after,
                 const ErrorSummary& inside) {
    constexpr double least = 0.2;
    const double whole = before.log_high - before.log_low;
    if (!(whole > 0.0)) return 1.0;
    constexpr double digits = 1e2;  // as descriptions write it
    const double widths = 0.5 * (after.log_high - after.log_low + inside.log_high - inside.log_low);
    const double left = std::round(widths / whole * digits) / digits;
    return std::clamp(left, least, 1.0);
}

std::vector<ResidualReport> fit_class(ResidualClass residual_class, const Samples& all,
                                      AnalyticMachines& machines) {
    const Samples samples = of_one_implementation(all);
    std::map<std::string, std::size_t> rows;
    for (const Sample& each : samples) ++rows[each.row->gpu];
    std::vector<ResidualReport> reports;
    const auto few = std::any_of(rows.begin(), rows.end(), [](const auto& each) {
        return each.second < fewest_residual_rows;
    });
    double penalty = 0.0;
    std::map<std::string, ResidualFit> known;
    std::map<std::string, ResidualFit> whole;
    if (!few) {
        known =
            corrections_of(part_of(samples, [](const Sample& s) { return !s.held_out; }), penalty);
        whole = corrections_of(samples, penalty);
    }
    for (const auto& [gpu, count] : rows) {
        ResidualReport report;
        report.gpu = gpu;
        report.residual_class = residual_class;
        report.rows = count;
        report.penalty = penalty;
        if (few) {
            report.kept_because = fmt::format("fewer than {} rows", fewest_residual_rows);
        } else {
            const model::Machine& machine = machines.at(gpu);
            report.before = errors_of(samples, gpu, machine, residual_class, nullptr);
            report.after = errors_of(samples, gpu, machine, residual_class, &known.at(gpu));
            report.held_out = static_cast<std::size_t>(report.before.count);
            report.fit = whole.at(gpu);
            const ErrorSummary inside =
                errors_of(samples, gpu, machine, residual_class, &whole.at(gpu));
            report.fit.spread = spread_of(report.before, report.after, inside);
            if (report.fit.terms.empty() ||
                report.after.mean > (1.0 - least_gain) * report.before.mean) {
                report.fit.terms.clear();
                report.kept_because = "the error of rows held out falls by less than 6 %";
            }
        }
        reports.push_back(std::move(report));
    }
    return reports;
}

}  // namespace

std::vector<ResidualReport> fit_residuals(const FitRequest& request) {
    const std::vector<MeasuredRow> rows = rows_of(request);
    AnalyticMachines machines(request);
    std::vector<ResidualReport> reports;
    std::map<std::string, std::vector<MeasuredRow>> alone;
    if (request.gpus.empty()) {
        for (const MeasuredRow& row : rows) alone[row.gpu].push_back(row);
    } else {
        alone.emplace("", rows);
    }
    for (const auto& [name, part] : alone) {
        for (const auto& [residual_class, samples] : samples_of(part, machines)) {
            for (ResidualReport& report : fit_class(residual_class, samples, machines)) {
                reports.push_back(std::move(report));
            }
        }
    }
    return reports;
}

std::string residual_overlay(const std::vector<ResidualReport>& reports, const std::string& gpu,
                             const std::string& source) {
    return fmt::format(
               "# Residual corrections; written by ridge fit residual.\nschema = 1\nkind = "
               "\"overlay\"\n"
               "name = \"{0}.residual\"\noverlay = \"{0}\"\ntitle = \"{0}, residual "
               "corrections\"\n\n"
               "[sources]\nFIT = {{ kind = \"derived\", text = \"{1}\" }}\n",
               gpu, source) +
           residual_sections(reports, gpu);
}

std::string residual_sections(const std::vector<ResidualReport>& reports, const std::string& gpu) {
    std::string text;
    for (const ResidualReport& report : reports) {
        if (report.gpu != gpu || report.fit.terms.empty()) continue;
        const ResidualClass each = report.residual_class;
        text += fmt::format(
            "\n[model.residual.{}]\n"
            "implementation = {{ value = \"{}\", source = \"FIT\", note = \"{} rows; of a third "
            "held out, mean error {:.1f} % without and {:.1f} % with it\" }}\n"
            "spread = {{ value = {}, source = \"FIT\" }}\n"
            "range = {{ value = \"{}\", source = \"FIT\" }}\n"
            "terms = {{ value = \"{}\", source = \"FIT\" }}\n",
            name_of(each), name_of(report.fit.implementation), report.rows,
            100.0 * report.before.mean, 100.0 * report.after.mean, report.fit.spread,
            range_text(each, report.fit), terms_text(each, report.fit));
    }
    return text;
}

}  // namespace ridge::measure
