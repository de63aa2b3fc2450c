// Fits the values of engine kernels' laws to tables of serving engines.
//
// Each kernel on each GPU is one fit, with a machine for its software. Rows are kept for judging by their
// shape: whole pairs of n and k, and single shapes, so that the errors on them are those of a user. The
// band is the spread of the residuals of a cross-validation in five folds of such pairs and shapes. Rows whose
// kernel no file of the software describes are left out.
#include <algorithm>
#include <cmath>

#include "measure/fit/engine_rows.h"
#include "measure/fit/fit.h"
#include "measure/fit/left_out.h"
#include "measure/statistics/quantile.h"
#include "model/machine/engine_kernel.h"
#include "model/machine/parameters.h"
#include "model/machine/schema.h"

namespace ridge::measure {
namespace {

/// Laws have many parameters that share their effects: along such a valley the cost hardly changes.
constexpr int most_fit_steps = 100;
constexpr double least_engine_gain = 1e-4;

std::string engine_group(const MeasuredRow& row, const model::Prediction& prediction) {
    return row.gpu + " " + std::string(row.execution.software.name()) + " " +
           std::string(row.execution.kernel.name()) + " " +
           std::string(name_of(prediction.limiter));
}

/// The free parameters of a kernel: those that have a start, or a value.
std::vector<FreeParameter> parameters_of_kernel(const std::string& section,
                                                const model::Machine& machine,
                                                const Starts& start) {
    std::vector<FreeParameter> free;
    for (const model::ModelParameter* const each : model::engine_parameters(section)) {
        if (each->origin != model::Origin::tables) continue;
        const auto value = start ? std::optional(start(each->field.path)) : each->read(machine);
        if (value && *value > 0.0) free.push_back({each});
    }
    return free;
}

/// Half-widths of the 80 % band from the residuals ln(predicted / measured) of held-out rows; `corrected`: those
/// with a correction are the same.
void add_band(const std::string& section, std::vector<double> residuals, bool corrected,
              FitReport& report) {
    if (residuals.empty()) return;
    constexpr double tenth = 0.1;
    std::sort(residuals.begin(), residuals.end());
    constexpr double least = 0.01;  // in ln
    const double below = std::max(quantile(residuals, 1.0 - tenth), least);
    const double above = std::max(-quantile(residuals, tenth), least);
    const auto add = [&](std::string_view name, double value) {
        FittedParameter band;
        band.field = section + '.' + std::string(name);
        band.number = value;
        band.value = toml_value(*model::schema().find(band.field), value);
        report.parameters.push_back(std::move(band));
    };
    add(model::band_below_name, below);
    add(model::band_above_name, above);
    if (!corrected) return;
    add(model::correction_below_name, below);
    add(model::correction_above_name, above);
}

}  // namespace

std::vector<FitReport> fit_engine(const FitRequest& request) {
    std::vector<FitReport> reports;
    for (EngineKernelRows& each : engine_kernel_rows(request)) {
        // What a user measured is fitted beside the correction that comes with ridge, which stays.
        const bool knows = request.prior == Prior::family;
        if (!knows) each.drop_correction();
        FitProblem problem;
        problem.rows = std::move(each.rows);
        problem.machines.emplace(each.gpu, each.machine);
        problem.parameters = parameters_of_kernel(each.section, each.machine, request.start);
        problem.start = request.start;
        problem.only_names = request.only_names;
        problem.steps = most_fit_steps;
        problem.gain = least_engine_gain;
        problem.prior = request.prior;
        problem.fold_start = knows ? FoldStart::given : FoldStart::fitted;
        problem.group = engine_group;
        problem.fold_key = fold_of_shape;
        FitReport report = run_fit(problem);
        const bool corrected = each.kernel().correction != nullptr;
        add_band(each.section, report.held_out, corrected, report);
        report.name = each.gpu + " " + each.section;
        reports.push_back(std::move(report));
    }
    return reports;
}

}  // namespace ridge::measure
