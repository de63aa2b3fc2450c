// Fits the time model of memory-bound kernels to table times of eager elementwise, softmax and
// layer-norm kernels, or to records of the bundled kernels.
//
// For tables, the DRAM efficiencies that such rows determine (pure reads and the mix; pure writes
// do not occur) and the costs of eager kernels are free. With several GPUs, each has its own
// efficiencies; they share the costs and how sharply the L2 loses data. For records, the DRAM
// efficiencies, the L2's write rate, `model.l2` and `model.bundled` of one GPU are free.

#include <algorithm>
#include <array>

#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "measure/record/record.h"

namespace ridge::measure {
namespace {

void append(std::vector<FreeParameter>& to, const std::vector<FreeParameter>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

/// Each GPU has its own DRAM efficiencies; the rest is shared.
std::vector<FreeParameter> table_parameters(const model::Machine& machine) {
    auto all = free_parameters("memory", model::Origin::tables, machine, Sharing::per_gpu);
    append(all, free_parameters("l2", model::Origin::tables, machine));
    append(all, free_parameters("eager", model::Origin::tables, machine));
    return all;
}

std::vector<FreeParameter> record_parameters(const model::Machine& machine) {
    auto all = free_parameters("memory", model::Origin::records, machine);
    for (const FreeParameter& each : free_parameters("l2", model::Origin::records, machine)) {
        if (each.parameter->name != "dirty") all.push_back(each);  // PyTorch's records tell it
    }
    append(all, free_parameters("bundled", model::Origin::records, machine));
    return all;
}

std::string memory_group(const MeasuredRow& row, const model::Prediction& prediction) {
    std::string group = row.gpu + " " + std::string(model::name_of(row.operation));
    const auto* const rows = std::get_if<model::RowWise>(&row.operation);
    if (rows == nullptr) return group;
    constexpr std::int64_t short_rows = 2560;
    if (rows->kind == model::RowKind::softmax && rows->cols <= 1024) return group + " one pass";
    const bool known = prediction.work.kernels == 1;
    return known && rows->cols < short_rows ? group + " short rows" : group + " long rows";
}

/// Rows with the same number of elements or columns are held out together.
std::string memory_shape(const MeasuredRow& row) {
    const std::string name(model::name_of(row.operation));
    if (const auto* rows = std::get_if<model::RowWise>(&row.operation)) {
        return name + std::to_string(rows->cols);
    }
    return name + std::to_string(std::get<model::Elementwise>(row.operation).elements);
}

bool streams(const MeasuredRow& row) {
    using Kind = model::OperationKind;
    constexpr std::array kinds{Kind::elementwise, Kind::softmax,   Kind::layernorm, Kind::rmsnorm,
                               Kind::sum,         Kind::transpose, Kind::copy,      Kind::gather};
    return std::find(kinds.begin(), kinds.end(), row.kind) != kinds.end() &&
           row.execution.implementation != model::Implementation::torch &&
           row.execution.implementation != model::Implementation::compiled;
}

/// Fits bundled kernels by operation and implementation; rows of one shape are held out together.
std::vector<FitReport> fit_bundled(const FitRequest& request) {
    std::vector<MeasuredRow> rows = record_rows(request);
    std::erase_if(rows, [](const MeasuredRow& row) { return !streams(row); });
    return fit_by_shape(rows, request, record_parameters);
}

}  // namespace

std::vector<FitReport> fit_memory(const FitRequest& request) {
    if (!request.records.empty()) return fit_bundled(request);
    const auto rows = table_rows(request, {"elementwise", "softmax", "layernorm"});
    std::vector<FitReport> reports;
    for (FitProblem& problem : split_rows(rows, request)) {
        problem.parameters = table_parameters(problem.machines.begin()->second);
        problem.group = memory_group;
        problem.fold_key = memory_shape;
        reports.push_back(run_fit(problem));
    }
    return reports;
}

}  // namespace ridge::measure
