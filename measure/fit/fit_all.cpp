#include "measure/fit/fit_all.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "hardware/error.h"
#include "model/predict.h"
#include "model/residual/correction.h"
#include "model/software.h"

namespace ridge::measure {
namespace {

using model::Machine;
using model::ResidualClass;

/// Why the values of a fit are not accepted; empty when they are.
std::string reason_to_keep(const FitReport& report, const ErrorSummary& before,
                           const ErrorSummary& after) {
    if (!report.usable()) return "the fit is " + std::string(name_of(report.status));
    if (before.count < fewest_fit_rows) {
        return fmt::format("{} row{}, at least {} are needed", before.count,
                           before.count == 1 ? "" : "s", fewest_fit_rows);
    }
    if (report.parameters.empty()) return "the rows determine no parameter";
    if (after.count < before.count) return "there are too few shapes to hold some out";
    for (const FittedParameter& each : report.parameters) {
        if (!std::isfinite(each.number) || !(each.standard_error <= 1.0)) {
            return each.field + " is not determined";
        }
    }
    if (!(after.mean < before.mean)) return "held-out rows are not predicted better";
    return {};
}

FitStep step_of(const std::string& program, FitReport report) {
    FitStep step{.program = program, .report = std::move(report), .kept_because = {}};
    if (!step.report.described.empty()) step.before = step.report.described.back().errors;
    if (!step.report.cross_validated.empty()) {
        step.after = step.report.cross_validated.back().errors;
    }
    step.kept_because = reason_to_keep(step.report, step.before, step.after);
    return step;
}

void write_parameters(const FitReport& report, Machine& machine) {
    for (const FittedParameter& each : report.parameters) {
        const model::ModelParameter* const parameter = model::find_parameter(each.field);
        RIDGE_CONTRACT(parameter != nullptr && parameter->write(machine, each.number));
    }
}

/// Rows of one GPU and its machine, which changes as fits are accepted.
class Calibrated {
  public:
    Calibrated(const FitRequest& request, const std::string& gpu) : request_(request) {
        fits_.machine = request.machine(gpu);
        fits_.gpu = fits_.machine.name;
        of_catalogue_ = fits_.machine.residuals;
        const Machine start = fits_.machine;
        mine_ = request;
        mine_.gpus.clear();
        mine_.prior = Prior::family;
        mine_.machine = [this](const std::string& name) {
            return name == fits_.gpu ? fits_.machine : request_.machine(name);
        };
        mine_.wanted = [this](const MeasuredRow& row) { return row.gpu == fits_.gpu; };
        rows_ = all_rows();
        mine_.read = &rows_;
        fits_.rows = static_cast<std::int64_t>(rows_.size());
        std::erase_if(rows_, [&](const MeasuredRow& row) {
            if (row.seed) fits_.seeds.insert(*row.seed);
            if (is_modelled(row, start)) return false;
            ++fits_.not_modelled[std::string(model::name_of(row.operation))];
            return true;
        });
        mine_.wanted = [this, start](const MeasuredRow& row) {
            return row.gpu == fits_.gpu && is_modelled(row, start);
        };
        drop_corrections_of_records();
    }
    Calibrated(const Calibrated&) = delete;
    Calibrated& operator=(const Calibrated&) = delete;

    AllFits run() {
        if (!rows_.empty()) {
            for (const FitProgram& program : fit_programs()) run(program);
            keep_what_still_holds();
            drop_corrections();
            add_corrections();
        }
        return std::move(fits_);
    }

  private:
    [[nodiscard]] std::vector<MeasuredRow> all_rows() const {
        std::vector<MeasuredRow> rows =
            mine_.records.empty() ? read_tables(mine_.data, {}, mine_.keep, mine_.gpu_of_tables)
                                  : record_rows(mine_);
        std::erase_if(rows, std::not_fn(mine_.wanted));
        if (rows.empty()) {
            throw InputError("no rows of GPU '" + fits_.gpu + "'",
                             {mine_.records.empty() ? mine_.data : mine_.records.front()});
        }
        return rows;
    }

    /// Whether the model has parameters for the row's kernel.
    static bool is_modelled(const MeasuredRow& row, const Machine& machine) {
        const model::Outcome outcome = model::predict(row.operation, row.execution, machine);
        const auto* const prediction = std::get_if<model::Prediction>(&outcome);
        return prediction != nullptr && prediction->evidence.chip != model::ChipEvidence::datasheet;
    }

    void run(const FitProgram& program) {
        const RowSource source = mine_.records.empty() ? RowSource::tables : RowSource::records;
        if (program.source != source && program.source != RowSource::either) return;
        if (program.of_software || program.of_engine) return;
        try {
            for (FitReport& report : program.run(mine_)) {
                FitStep step = step_of(program.name, std::move(report));
                if (step.kept_because.empty()) write_parameters(step.report, fits_.machine);
                fits_.steps.push_back(std::move(step));
            }
        } catch (const InputError& error) {
            // The rows were read and predicted before, so the fit lacks values to start from.
            FitStep& step = fits_.steps.emplace_back();
            step.program = program.name;
            step.report.name = fits_.gpu;
            step.kept_because = error.what();
        }
    }

    /// Mean error of the rows of a class; empty when there are too few rows to judge by.
    [[nodiscard]] std::optional<double> error_of(ResidualClass residual_class,
                                                 const Machine& machine) const {
        double sum = 0.0;
        std::int64_t count = 0;
        for (const MeasuredRow& row : rows_) {
            const model::Outcome outcome = model::predict(row.operation, row.execution, machine);
            const auto& prediction = std::get<model::Prediction>(outcome);
            const auto features =
                model::residual_features_of(row.operation, row.execution, prediction, machine);
            if (!features || features->residual_class != residual_class) continue;
            sum += std::abs(prediction.time / row.measured - 1.0);
            ++count;
        }
        if (count < fewest_fit_rows) return std::nullopt;
        return sum / static_cast<double>(count);
    }

    /// Removes the corrections for which `goes` is true and notes them.
    template <class Goes>
    void drop_where(Goes&& goes) {
        if (fits_.machine.residuals == nullptr) return;
        auto rest = std::make_shared<model::Residuals>(*fits_.machine.residuals);
        for (std::size_t i = 0; i < model::residual_class_count; ++i) {
            const auto each = static_cast<ResidualClass>(i);
            if (rest->find(each) == nullptr || !goes(each)) continue;
            rest->drop(each);
            fits_.dropped.insert(each);
        }
        fits_.machine.residuals = std::move(rest);
    }

    /// Drops corrections fitted to records of one GPU: they are valid only with the parameters
    /// before these fits. For kernels that are not among the rows they are kept, as there is
    /// nothing better.
    void drop_corrections_of_records() {
        const std::set<ResidualClass> met = classes_met();
        drop_where([&](ResidualClass each) {
            return model::rests_on_records(each) && met.contains(each);
        });
    }

    [[nodiscard]] std::set<ResidualClass> classes_met() const {
        std::set<ResidualClass> met;
        for (const MeasuredRow& row : rows_) {
            const model::Outcome outcome =
                model::predict(row.operation, row.execution, fits_.machine);
            const auto features = model::residual_features_of(
                row.operation, row.execution, std::get<model::Prediction>(outcome), fits_.machine);
            if (features) met.insert(features->residual_class);
        }
        return met;
    }

    /// Restores the corrections when no parameter was accepted: their basis has not changed.
    void keep_what_still_holds() {
        const bool taken = std::any_of(fits_.steps.begin(), fits_.steps.end(),
                                       [](const FitStep& s) { return s.kept_because.empty(); });
        if (taken) return;
        fits_.machine.residuals = of_catalogue_;
        fits_.dropped.clear();
    }

    /// Drops the corrections that no longer help.
    void drop_corrections() {
        Machine analytic = fits_.machine;
        analytic.residuals = nullptr;
        drop_where([&](ResidualClass each) {
            const auto with = error_of(each, fits_.machine);
            const auto without = error_of(each, analytic);
            return with && without && *with > *without;
        });
    }

    /// Corrections to build on: those that the GPU had, otherwise those of related GPUs.
    [[nodiscard]] model::Residuals starts() const {
        model::Residuals all;
        const auto add = [&all](const model::Residuals* some) {
            for (std::size_t i = 0; some != nullptr && i < model::residual_class_count; ++i) {
                const auto each = static_cast<ResidualClass>(i);
                const model::ResidualFit* const fit = some->find(each);
                if (fit != nullptr && all.find(each) == nullptr) all.set(each, *fit);
            }
        };
        add(of_catalogue_.get());
        for (const std::string& relative : request_.relatives) {
            add(request_.machine(relative).residuals.get());
        }
        return all;
    }

    void add_corrections() {
        auto all = fits_.machine.residuals == nullptr
                       ? std::make_shared<model::Residuals>()
                       : std::make_shared<model::Residuals>(*fits_.machine.residuals);
        for (ResidualReport& report : fit_residuals(mine_, starts())) {
            if (all->find(report.residual_class) != nullptr) continue;
            if (report.kept_because.empty()) all->set(report.residual_class, report.fit);
            fits_.corrections.push_back(std::move(report));
        }
        fits_.machine.residuals = std::move(all);
    }

    const FitRequest& request_;
    FitRequest mine_;
    std::vector<MeasuredRow> rows_;
    AllFits fits_;
    std::shared_ptr<const model::Residuals> of_catalogue_;
};

std::string errors_text(const ErrorSummary& before, const ErrorSummary& after) {
    return fmt::format(
        "mean error {:.1f} % before and {:.1f} % cross-validated, p90 {:.1f} and "
        "{:.1f} %",
        100.0 * before.mean, 100.0 * after.mean, 100.0 * before.p90, 100.0 * after.p90);
}

std::string step_text(const FitStep& step) {
    std::string text =
        fmt::format("# {}, {}, {} rows: ", step.program, step.report.name, step.before.count);
    if (step.kept_because.empty()) return text + errors_text(step.before, step.after) + '\n';
    text += "keeps its values: " + step.kept_because;
    if (step.after.count > 0) text += " (" + errors_text(step.before, step.after) + ')';
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text + '\n';
}

/// An empty correction, which replaces one of the description below.
ResidualReport without_effect(const std::string& gpu, ResidualClass residual_class) {
    ResidualReport report;
    report.gpu = gpu;
    report.residual_class = residual_class;
    report.fit.implementation = model::Implementation::library;
    report.fit.forest = {{{.feature = 0, .threshold = 0.0, .width = 1.0}}, {{}}};
    return report;
}

}  // namespace

AllFits fit_all(const FitRequest& request, const std::string& gpu) {
    return Calibrated(request, gpu).run();
}

AllFits fit_engine_rows(const FitRequest& request, const std::string& gpu) {
    RIDGE_CONTRACT(request.read != nullptr);
    AllFits fits;
    fits.machine = request.machine(gpu);
    fits.gpu = fits.machine.name;
    fits.rows = static_cast<std::int64_t>(request.read->size());
    for (const MeasuredRow& row : *request.read) {
        const model::SoftwareRun run = model::run_of(row.operation, row.execution, fits.machine);
        if (run.kernel != nullptr && run.refusal.empty()) continue;
        ++fits.not_modelled[std::string(model::name_of(row.operation))];
    }
    FitRequest asked = request;
    asked.gpus = {fits.gpu};
    asked.prior = Prior::family;
    asked.every_shape = true;
    for (FitReport& report : fit_engine(asked)) {
        fits.steps.push_back(step_of("engine", std::move(report)));
    }
    return fits;
}

std::string fitted_sections(const AllFits& fits) {
    std::string text = "\n";
    std::map<std::string, std::map<std::string, std::string>> sections;
    for (const FitStep& step : fits.steps) {
        text += step_text(step);
        if (!step.kept_because.empty()) continue;
        for (const HeldParameter& held : step.report.held) {
            text += "#   " + held.field + " keeps " + held.value + ": " + held.reason + '\n';
        }
        for (const FittedParameter& each : step.report.parameters) {
            const std::size_t dot = each.field.rfind('.');
            sections[each.field.substr(0, dot)][each.field.substr(dot + 1)] = fmt::format(
                R"({{ value = {}, source = "FIT"{} }})", each.value,
                each.standard_error > 0.0
                    ? fmt::format(R"(, note = "+- {:.2g} %")", 100.0 * each.standard_error)
                    : std::string());
        }
    }
    for (const auto& [section, fields] : sections) {
        text += "\n[" + section + "]\n";
        for (const auto& [name, value] : fields)
            text.append(name).append(" = ").append(value).append("\n");
    }
    std::vector<ResidualReport> corrections = fits.corrections;
    for (const ResidualClass each : fits.dropped) {
        const bool replaced =
            std::any_of(corrections.begin(), corrections.end(), [&](const ResidualReport& r) {
                return r.residual_class == each && !r.fit.forest.empty();
            });
        if (replaced) continue;
        corrections.push_back(without_effect(fits.gpu, each));
    }
    return text + residual_sections(corrections, fits.gpu);
}

}  // namespace ridge::measure
