#include "measure/fit/fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <span>

#include "hardware/error.h"
#include "hardware/units.h"
#include "measure/record/record.h"
#include "measure/statistics/least_squares.h"
#include "model/predict.h"
#include "model/roof/band.h"

namespace ridge::measure {
namespace {

using Machines = std::map<std::string, model::Machine>;

constexpr unsigned seed = 1;
constexpr double displacement = 0.3;  ///< largest |ln| by which the start of a fold is displaced

/// One number of the fit: a parameter that all GPUs share (empty name) or that one GPU has.
struct Slot {
    const FreeParameter* parameter;
    std::string gpu;
};

std::vector<Slot> slots_of(const FitProblem& problem) {
    std::vector<Slot> slots;
    for (const FreeParameter& parameter : problem.parameters) {
        if (!parameter.per_gpu) {
            slots.push_back({&parameter, {}});
            continue;
        }
        for (const auto& [gpu, machine] : problem.machines) slots.push_back({&parameter, gpu});
    }
    return slots;
}

std::vector<double> start_of(const FitProblem& problem, const std::vector<Slot>& slots) {
    std::vector<double> start;
    for (const Slot& slot : slots) {
        const model::Machine& machine =
            slot.gpu.empty() ? problem.machines.begin()->second : problem.machines.at(slot.gpu);
        start.push_back(slot.parameter->parameter->read(machine).value());
    }
    return start;
}

const hardware::Field& field_of(const Slot& slot) {
    return slot.parameter->parameter->field;
}

double in_range(const hardware::Field& field, double value) {
    return std::clamp(value, field.range.least, field.range.most);
}

Machines with(Machines machines, const std::vector<Slot>& slots, std::span<const double> values) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
        for (auto& [gpu, machine] : machines) {
            if (slots[i].gpu.empty() || slots[i].gpu == gpu) {
                const model::ModelParameter& parameter = *slots[i].parameter->parameter;
                RIDGE_CONTRACT(parameter.write(machine, in_range(parameter.field, values[i])));
            }
        }
    }
    return machines;
}

model::Prediction predicted(const MeasuredRow& row, const Machines& machines) {
    model::Outcome outcome = model::predict(row.operation, row.execution, machines.at(row.gpu));
    if (const auto* reason = std::get_if<model::NotModelled>(&outcome)) {
        throw InputError(reason->reason, {row.file, static_cast<int>(row.line), 1});
    }
    return std::get<model::Prediction>(outcome);
}

/// How strongly parameters are pulled to their start: residuals of 0.06 over a family's spread of
/// 0.3.
constexpr double family_pull = 0.2;

LeastSquaresSummary fitted(const FitProblem& problem, const std::vector<Slot>& slots,
                           const std::vector<const MeasuredRow*>& rows,
                           const std::vector<double>& start) {
    const Residuals residuals = [&](std::span<const double> values) {
        const Machines machines = with(problem.machines, slots, values);
        std::vector<double> logs;
        logs.reserve(rows.size());
        for (const MeasuredRow* row : rows) {
            logs.push_back(std::log(predicted(*row, machines).time / row->measured));
        }
        return logs;
    };
    LeastSquaresOptions options;
    options.steps = problem.steps;
    options.gain = problem.gain;
    if (problem.prior == Prior::family) options.pull = family_pull;
    return least_squares(residuals, start, options);
}

void judge(const FitProblem& problem, const Machines& machines,
           const std::vector<const MeasuredRow*>& rows, std::vector<Residual>& residuals) {
    for (const MeasuredRow* row : rows) {
        const model::Prediction prediction = predicted(*row, machines);
        residuals.push_back({.group = problem.group(*row, prediction),
                             .error = {.ratio = prediction.time / row->measured,
                                       .inside = model::in_band(prediction, row->measured)}});
    }
}

std::vector<double> displaced(std::vector<double> values, double most, std::mt19937& random) {
    for (double& value : values) {
        const double uniform = static_cast<double>(random()) / 4294967296.0;
        value *= std::exp(most * (2.0 * uniform - 1.0));
    }
    return values;
}

std::vector<Residual> cross_validated(const FitProblem& problem, const std::vector<Slot>& slots,
                                      std::vector<double> start) {
    std::mt19937 random(seed);  // NOLINT(cert-msc32-c,cert-msc51-cpp): folds must repeat
    if (problem.prior != Prior::family) start = displaced(std::move(start), displacement, random);
    std::map<std::string, unsigned> fold_of;
    for (const MeasuredRow& row : problem.rows) {
        fold_of.try_emplace(problem.fold_key(row), static_cast<unsigned>(random()) % folds);
    }
    std::vector<Residual> residuals;
    for (unsigned fold = 0; fold < problem.tried_folds; ++fold) {
        std::vector<const MeasuredRow*> known;
        std::vector<const MeasuredRow*> held_out;
        for (const MeasuredRow& row : problem.rows) {
            (fold_of.at(problem.fold_key(row)) == fold ? held_out : known).push_back(&row);
        }
        if (known.empty() || held_out.empty()) continue;
        judge(problem, with(problem.machines, slots, fitted(problem, slots, known, start).values),
              held_out, residuals);
    }
    return residuals;
}

}  // namespace

std::string toml_value(const hardware::Field& field, double value, int digits) {
    const Dimension& dimension = field.dimension;
    if (dimension == dimensionless) return format_number(value, digits);
    if (dimension == Bytes::dimension) return '"' + format_number(value, digits) + " B\"";
    if (dimension == Bandwidth::dimension) {
        return '"' + format(Bandwidth::from_base(value), digits) + '"';
    }
    if (dimension == BytesPerCycle::dimension) {
        return '"' + format(BytesPerCycle::from_base(value), digits) + '"';
    }
    if (dimension == Cycles::dimension) {
        return '"' + format(Cycles::from_base(value), digits) + '"';
    }
    if (dimension == Power::dimension) {
        return '"' + format(Power::from_base(value), digits) + '"';
    }
    if (dimension == FlopRate::dimension) {
        return '"' + format(FlopRate::from_base(value), digits) + '"';
    }
    RIDGE_CONTRACT(dimension == Time::dimension);
    return '"' + format(Time::from_base(value), digits) + '"';
}

namespace {

HeldParameter held(const Slot& slot, double value, std::string reason) {
    return {.gpu = slot.gpu,
            .field = field_of(slot).path,
            .value = toml_value(field_of(slot), value),
            .reason = std::move(reason)};
}

/// Removes the parameters that start at zero from `slots`.
std::vector<HeldParameter> without_zeros(const FitProblem& problem, std::vector<Slot>& slots) {
    std::vector<HeldParameter> zeros;
    const std::vector<double> start = start_of(problem, slots);
    std::vector<Slot> rest;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (start[i] > 0.0) {
            rest.push_back(slots[i]);
        } else if (start[i] == 0.0) {
            zeros.push_back(
                held(slots[i], 0.0, "starts at zero, which a fit of logarithms cannot leave"));
        } else {
            throw InputError(field_of(slots[i]).path + " starts at a value that is not positive");
        }
    }
    slots = std::move(rest);
    return zeros;
}

std::string correlation_text(const std::vector<Slot>& slots, const Correlation& strongest,
                             std::size_t of) {
    if (strongest.with == of) return {};
    return ", correlation " + format_number(strongest.value, 2) + " with " +
           field_of(slots[strongest.with]).path;
}

/// Fits `slots`, removes the one that the rows determine least, and repeats until all are
/// determined.
LeastSquaresSummary fitted_determined(const FitProblem& problem, std::vector<Slot>& slots,
                                      const std::vector<const MeasuredRow*>& rows,
                                      std::vector<HeldParameter>& held_back) {
    while (true) {
        const std::vector<double> start = start_of(problem, slots);
        LeastSquaresSummary fit = fitted(problem, slots, rows, start);
        if (slots.empty() || fit.status == FitStatus::not_finite) return fit;
        for (double& each : fit.standard_errors) {
            if (!std::isfinite(each)) each = std::numeric_limits<double>::infinity();
        }
        const auto worst = static_cast<std::size_t>(
            std::max_element(fit.standard_errors.begin(), fit.standard_errors.end()) -
            fit.standard_errors.begin());
        const double error = fit.standard_errors[worst];
        if (error <= 1.0) return fit;
        const std::string reason =
            std::isfinite(error)
                ? "standard error " + format_number(100.0 * error, 3) + " % of the value" +
                      correlation_text(slots, strongest_correlation(fit, worst), worst)
                : "no row depends on it";
        held_back.push_back(held(slots[worst], start[worst], reason));
        slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(worst));
    }
}

void add_parameters(const std::vector<Slot>& slots, const LeastSquaresSummary& fit,
                    FitReport& report) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const Correlation strongest = strongest_correlation(fit, i);
        const hardware::Field& field = field_of(slots[i]);
        const double value = in_range(field, fit.values[i]);
        report.parameters.push_back({.gpu = slots[i].gpu,
                                     .field = field.path,
                                     .value = toml_value(field, value),
                                     .number = value,
                                     .standard_error = fit.standard_errors[i],
                                     .correlated_with = strongest.with == i
                                                            ? std::string()
                                                            : field_of(slots[strongest.with]).path,
                                     .correlation = strongest.value});
    }
}

/// The problem from the starts that it names.
FitProblem started(FitProblem problem) {
    const std::vector<Slot> slots = slots_of(problem);
    std::vector<double> values;
    for (const Slot& slot : slots) values.push_back(problem.start(field_of(slot).path));
    problem.machines = with(std::move(problem.machines), slots, values);
    problem.start = nullptr;
    return problem;
}

}  // namespace

std::vector<FreeParameter> free_parameters(std::string_view section, model::Origin origin,
                                           const model::Machine& start, Sharing sharing) {
    std::vector<FreeParameter> free;
    for (const model::ModelParameter& each : model::model_parameters()) {
        const bool fitted = each.origin == origin || each.origin == model::Origin::either;
        if (each.section != section || !fitted) continue;
        const auto value = each.read(start);
        if (!value) {
            throw InputError("GPU '" + start.name + "' has no fields of model." +
                             std::string(section) + " to start from");
        }
        if (*value > 0.0) free.push_back({&each, sharing == Sharing::per_gpu});
    }
    return free;
}

FitReport run_fit(const FitProblem& problem) {
    RIDGE_CONTRACT(!problem.rows.empty() && !problem.machines.empty());
    if (problem.start) return run_fit(started(problem));
    std::vector<const MeasuredRow*> rows;
    for (const MeasuredRow& row : problem.rows) rows.push_back(&row);

    FitReport report;
    for (const auto& [gpu, machine] : problem.machines) {
        report.name += (report.name.empty() ? "" : ", ") + gpu;
    }
    for (const MeasuredRow& row : problem.rows) {
        if (row.seed) report.seeds.insert(*row.seed);
    }
    std::vector<Slot> slots = slots_of(problem);
    report.held = without_zeros(problem, slots);
    if (problem.only_names) {
        const std::vector<double> start = start_of(problem, slots);
        for (std::size_t i = 0; i < slots.size(); ++i) {
            report.held.push_back(held(slots[i], start[i], "no fit was asked for"));
        }
        report.status = FitStatus::converged;
        return report;
    }
    const LeastSquaresSummary fit = fitted_determined(problem, slots, rows, report.held);
    report.status = fit.status;
    report.iterations = fit.iterations;
    report.cost_at_start = fit.cost_at_start;
    report.cost = fit.cost;
    add_parameters(slots, fit, report);
    if (!report.usable()) return report;
    std::vector<Residual> residuals;
    judge(problem, problem.described.empty() ? problem.machines : problem.described, rows,
          residuals);
    report.described = summarise(residuals);
    residuals.clear();
    judge(problem, with(problem.machines, slots, fit.values), rows, residuals);
    report.fitted = summarise(residuals);
    residuals = cross_validated(
        problem, slots,
        problem.fold_start == FoldStart::fitted ? fit.values : start_of(problem, slots));
    for (const Residual& each : residuals) report.held_out.push_back(std::log(each.error.ratio));
    report.cross_validated = summarise(residuals);
    return report;
}

std::vector<MeasuredRow> record_rows(const FitRequest& request) {
    std::map<std::string, std::string> names;  // to make a machine takes long
    const auto name_of = [&](const std::string& driver) {
        const auto known = names.find(driver);
        if (known != names.end()) return known->second;
        return names.emplace(driver, request.machine(driver).name).first->second;
    };
    std::vector<MeasuredRow> rows =
        request.read != nullptr ? *request.read : read_record_rows(request.records, name_of);
    if (request.wanted) std::erase_if(rows, std::not_fn(request.wanted));
    return rows;
}

namespace {

std::vector<MeasuredRow> rows_of_tables(const FitRequest& request,
                                        const std::vector<std::string>& prefixes) {
    std::vector<MeasuredRow> rows;
    for (const std::string& name : request.tables) {
        const bool fits =
            std::any_of(prefixes.begin(), prefixes.end(),
                        [&name](const std::string& prefix) { return name.starts_with(prefix); });
        if (!fits) continue;
        std::vector<MeasuredRow> more = read_rows(request.data + '/' + name, request.keep);
        std::move(more.begin(), more.end(), std::back_inserter(rows));
    }
    return rows;
}

}  // namespace

std::vector<MeasuredRow> table_rows(const FitRequest& request,
                                    const std::vector<std::string>& prefixes) {
    std::vector<MeasuredRow> rows =
        request.read != nullptr ? rows_named(*request.read, prefixes)
        : !request.tables.empty()
            ? rows_of_tables(request, prefixes)
            : read_tables(request.data, prefixes, request.keep, request.gpu_of_tables);
    if (request.wanted) std::erase_if(rows, std::not_fn(request.wanted));
    return rows;
}

std::vector<FitProblem> split_rows(const std::vector<MeasuredRow>& rows,
                                   const FitRequest& request) {
    std::set<std::string> present;
    for (const MeasuredRow& row : rows) present.insert(row.gpu);
    for (const std::string& gpu : request.gpus) {
        if (present.contains(gpu)) continue;
        throw InputError("no rows of GPU '" + gpu + "'", {request.data, 0, 0});
    }
    std::vector<std::set<std::string>> groups;
    if (!request.gpus.empty()) groups.emplace_back(request.gpus.begin(), request.gpus.end());
    if (request.gpus.empty()) {
        for (const std::string& gpu : present) groups.push_back({gpu});
    }
    std::vector<FitProblem> problems;
    for (const std::set<std::string>& group : groups) {
        FitProblem problem;
        problem.start = request.start;
        problem.tried_folds = request.tried_folds;
        problem.only_names = request.only_names;
        problem.prior = request.prior;
        for (const std::string& gpu : group) {
            problem.described.emplace(gpu, request.machine(gpu));
        }
        // Parameters belong to the analytic model; a correction is fitted to its residuals.
        problem.machines = problem.described;
        for (auto& [gpu, machine] : problem.machines) machine.residuals = nullptr;
        for (const MeasuredRow& row : rows) {
            if (group.contains(row.gpu)) problem.rows.push_back(row);
        }
        problems.push_back(std::move(problem));
    }
    return problems;
}

std::vector<FitReport> fit_kernels(
    const FitRequest& request, const std::function<std::string(const MeasuredRow&)>& kernel_of,
    const std::function<std::vector<FreeParameter>(const FitProblem&, const std::string& kernel)>&
        parameters_of) {
    std::map<std::string, std::vector<MeasuredRow>> by_kernel;
    for (MeasuredRow& row : record_rows(request)) {
        if (row.execution.launch != model::LaunchMode::kernel) continue;
        const std::string kernel = kernel_of(row);
        if (!kernel.empty()) by_kernel[kernel].push_back(std::move(row));
    }
    std::vector<FitReport> reports;
    for (const auto& [kernel, rows] : by_kernel) {
        for (FitProblem& problem : split_rows(rows, request)) {
            problem.parameters = parameters_of(problem, kernel);
            problem.group = [name = kernel](const MeasuredRow&, const model::Prediction&) {
                return name;
            };
            problem.fold_key = [](const MeasuredRow& row) { return canonical_text(row.operation); };
            reports.push_back(run_fit(problem));
            reports.back().name += " " + kernel;
        }
    }
    return reports;
}

std::vector<FitReport> fit_by_shape(
    const std::vector<MeasuredRow>& rows, const FitRequest& request,
    const std::function<std::vector<FreeParameter>(const model::Machine&)>& parameters_of) {
    std::vector<FitReport> reports;
    for (FitProblem& problem : split_rows(rows, request)) {
        problem.parameters = parameters_of(problem.machines.begin()->second);
        problem.group = [](const MeasuredRow& row, const model::Prediction& prediction) {
            return std::string(model::name_of(row.operation)) + " " +
                   std::string(model::name_of(prediction.implementation));
        };
        problem.fold_key = [](const MeasuredRow& row) { return canonical_text(row.operation); };
        reports.push_back(run_fit(problem));
    }
    return reports;
}

}  // namespace ridge::measure
