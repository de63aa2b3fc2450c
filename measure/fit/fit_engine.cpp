// Fits the values of engine kernels' laws to tables of serving engines.
//
// Each kernel on each GPU is one fit, with a machine for its software. Rows are kept for judging by their
// shape: whole pairs of n and k, and single shapes, so that the errors on them are those of a user. The
// band is the spread of the residuals of a cross-validation in five folds of such pairs and shapes. Rows whose
// kernel no file of the software describes are left out.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "measure/fit/left_out.h"
#include "measure/statistics/quantile.h"
#include "model/machine/engine_kernel.h"
#include "model/machine/machine_software.h"
#include "model/machine/parameters.h"
#include "model/machine/schema.h"
#include "model/software.h"

namespace ridge::measure {
namespace {

/// Tables of engines that the laws cover.
const std::vector<std::string> tables{"engine_matmul",     "engine_attention", "engine_moe",
                                      "engine_all_reduce", "engine_gdn",       "engine_kda",
                                      "engine_mamba2",     "engine_mixed"};

/// Laws have many parameters that share their effects: along such a valley the cost hardly changes.
constexpr int most_fit_steps = 100;
constexpr double least_engine_gain = 1e-4;

/// Rows of one kernel of an engine, by its section of parameters.
using KernelRows = std::map<std::string, std::vector<MeasuredRow>>;

std::string engine_group(const MeasuredRow& row, const model::Prediction& prediction) {
    return row.gpu + " " + std::string(row.execution.software.name()) + " " +
           std::string(row.execution.kernel.name()) + " " +
           std::string(name_of(prediction.limiter));
}

/// All rows that were read, those of one table, or those of the folder's tables of engines.
std::vector<MeasuredRow> engine_rows(const FitRequest& request) {
    if (request.read != nullptr) return *request.read;
    if (!request.tables.empty() || std::filesystem::is_directory(request.data)) {
        return table_rows(request, tables);
    }
    return read_rows(request.data, request.keep, request.gpu_of_tables);
}

KernelRows by_kernel(std::vector<MeasuredRow> rows, const model::Machine& machine,
                     bool every_shape) {
    KernelRows kernels;
    for (MeasuredRow& row : rows) {
        if (row.execution.software.is_usual()) continue;
        if (!every_shape && is_left_out(row.operation)) continue;
        const model::SoftwareRun run = model::run_of(row.operation, row.execution, machine);
        if (run.kernel == nullptr || !run.refusal.empty()) continue;
        kernels[run.kernel->recipe->section].push_back(std::move(row));
    }
    return kernels;
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

/// Half-widths of the 80 % band from the residuals ln(predicted / measured) of held-out rows.
void add_band(const std::string& section, std::vector<double> residuals, FitReport& report) {
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
}

}  // namespace

std::vector<FitReport> fit_engine(const FitRequest& request) {
    std::map<std::string, std::vector<MeasuredRow>> of_gpu;
    for (MeasuredRow& row : engine_rows(request)) {
        const bool wanted =
            request.gpus.empty() ||
            std::find(request.gpus.begin(), request.gpus.end(), row.gpu) != request.gpus.end();
        if (wanted) of_gpu[row.gpu].push_back(std::move(row));
    }
    std::vector<FitReport> reports;
    for (auto& [gpu, rows] : of_gpu) {
        const model::Machine usual = request.machine(gpu);
        const model::SoftwareChoice only = usual.software->chosen();
        if (!only.is_usual()) {
            std::erase_if(
                rows, [only](const MeasuredRow& row) { return row.execution.software != only; });
        }
        for (auto& [section, of_kernel] : by_kernel(std::move(rows), usual, request.every_shape)) {
            const model::Machine& machine =
                model::machine_with(usual, of_kernel.front().execution.software);
            FitProblem problem;
            problem.rows = std::move(of_kernel);
            problem.machines.emplace(gpu, machine);
            problem.parameters = parameters_of_kernel(section, machine, request.start);
            problem.start = request.start;
            problem.only_names = request.only_names;
            problem.steps = most_fit_steps;
            problem.gain = least_engine_gain;
            problem.prior = request.prior;
            const bool knows = request.prior == Prior::family;
            problem.fold_start = knows ? FoldStart::given : FoldStart::fitted;
            problem.group = engine_group;
            problem.fold_key = fold_of_shape;
            FitReport report = run_fit(problem);
            add_band(section, report.held_out, report);
            report.name = gpu + " " + section;
            reports.push_back(std::move(report));
        }
    }
    return reports;
}

}  // namespace ridge::measure
