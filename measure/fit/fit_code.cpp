// Fits the cost of compiled code on every GPU (`model.torch.*.*` and `model.bundled.*`,
// software/) to records of PyTorch's kernels (scripts/measure/torch-kernels.py) and of the bundled
// ones. There is one report per kind of kernel ("torch.softmax"), over the rows that its parameters
// affect.
#include <algorithm>
#include <cmath>
#include <map>

#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "measure/record/record.h"
#include "model/predict.h"

namespace ridge::measure {
namespace {

/// Prefix of the sections with the code of PyTorch's kernels; the section itself holds what a GPU
/// contributes.
constexpr std::string_view torch_section = "torch.";
constexpr std::string_view bundled_section = "bundled.";

bool is_code(std::string_view section) {
    return section.starts_with(torch_section) || section.starts_with(bundled_section);
}

/// "torch.softmax" for "torch.softmax.warp". Products have little in common, so theirs are one
/// level deeper. Functions, loops over single elements and movement share a parameter with
/// pointwise kernels; they form one kind, because fits of one after the other would not settle.
std::string kind_of(std::string_view section) {
    if (section.starts_with(bundled_section)) return std::string(section);
    for (const std::string_view each : {"torch.function", "torch.loop.", "torch.movement"}) {
        if (section.starts_with(each)) return "torch.pointwise";
    }
    constexpr std::string_view products = "torch.product.";
    const std::size_t above =
        section.starts_with(products) ? products.size() : torch_section.size();
    return std::string(section.substr(0, section.find('.', above)));
}

/// Parameters by kind of kernel.
std::map<std::string, std::vector<FreeParameter>> kinds_of(const model::Machine& machine) {
    std::map<std::string, std::vector<FreeParameter>> kinds;
    std::string_view before;
    for (const model::ModelParameter& each : model::model_parameters()) {
        if (!is_code(each.section) || each.section == before) continue;
        before = each.section;
        std::vector<FreeParameter>& kind = kinds[kind_of(each.section)];
        const auto some = free_parameters(each.section, model::Origin::records, machine);
        kind.insert(kind.end(), some.begin(), some.end());
    }
    return kinds;
}

/// The time according to the analytic model; empty if it has none.
std::optional<double> time_of(const MeasuredRow& row, const model::Machine& machine) {
    const model::Outcome outcome = model::predict(row.operation, row.execution, machine);
    const auto* const prediction = std::get_if<model::Prediction>(&outcome);
    if (prediction == nullptr || prediction->evidence.chip == model::ChipEvidence::datasheet) {
        return std::nullopt;
    }
    return prediction->time.base();
}

/// Rows of a problem with their times, so that each is predicted only once for all kinds.
struct TimedRows {
    std::vector<const MeasuredRow*> rows;
    std::vector<double> times;
};

TimedRows timed(const FitProblem& problem) {
    TimedRows all;
    for (const MeasuredRow& row : problem.rows) {
        const auto time = time_of(row, problem.machines.at(row.gpu));
        if (!time) continue;
        all.rows.push_back(&row);
        all.times.push_back(*time);
    }
    return all;
}

/// The rows whose time changes with any of the parameters.
std::vector<MeasuredRow> rows_moved_by(const std::vector<FreeParameter>& parameters,
                                       const TimedRows& all,
                                       const std::map<std::string, model::Machine>& machines) {
    constexpr double nudge = 1.1;
    constexpr double noticed = 1e-6;
    std::vector<bool> moved(all.rows.size(), false);
    for (const FreeParameter& each : parameters) {
        std::map<std::string, model::Machine> nudged = machines;
        for (auto& [gpu, machine] : nudged) {
            const double value = each.parameter->read(machine).value();
            RIDGE_CONTRACT(each.parameter->write(machine, nudge * value));
        }
        for (std::size_t i = 0; i < all.rows.size(); ++i) {
            if (moved[i]) continue;
            const auto time = time_of(*all.rows[i], nudged.at(all.rows[i]->gpu));
            moved[i] = !time || std::abs(*time / all.times[i] - 1.0) > noticed;
        }
    }
    std::vector<MeasuredRow> rows;
    for (std::size_t i = 0; i < moved.size(); ++i) {
        if (moved[i]) rows.push_back(*all.rows[i]);
    }
    return rows;
}

}  // namespace

std::vector<FitReport> fit_code(const FitRequest& request) {
    if (request.records.empty()) {
        throw InputError("the code of kernels is fitted to records", {},
                         "give them with --records");
    }
    std::vector<MeasuredRow> rows = record_rows(request);
    std::erase_if(rows, [](const MeasuredRow& row) {
        return row.execution.launch != model::LaunchMode::kernel;
    });
    std::vector<FitReport> reports;
    for (FitProblem& problem : split_rows(rows, request)) {
        const TimedRows all = timed(problem);
        for (auto& [kind, parameters] : kinds_of(problem.machines.begin()->second)) {
            std::vector<MeasuredRow> moved = rows_moved_by(parameters, all, problem.machines);
            FitProblem part = {
                .rows = std::move(moved),
                .machines = problem.machines,
                .prior = problem.prior,
                .parameters = std::move(parameters),
                .group = [name = kind](const MeasuredRow&,
                                       const model::Prediction&) { return name; },
                .fold_key = [](const MeasuredRow& row) { return canonical_text(row.operation); }};
            if (part.rows.empty()) continue;
            reports.push_back(run_fit(part));
            reports.back().name += " " + kind;
        }
    }
    return reports;
}

}  // namespace ridge::measure
