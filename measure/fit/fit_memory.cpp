// Fits the time model of memory-bound kernels to eager elementwise, softmax and layer-norm times.
//
// Free are the DRAM efficiencies that such rows determine (pure reads, the mix; pure writes do not
// occur in them) and the costs of eager kernels. With several GPUs the efficiencies are each GPU's
// own and the costs are shared.

#include "hardware/error.h"
#include "measure/fit/fit.h"

namespace ridge::measure {
namespace {

model::MemoryParameters& memory_of(model::Machine& machine) {
    if (!machine.memory) {
        throw InputError("GPU '" + machine.name + "' has no model.memory fields to start from");
    }
    return *machine.memory;
}

FreeParameter own(FreeParameter parameter) {
    parameter.per_gpu = true;
    return parameter;
}

std::vector<FreeParameter> memory_parameters() {
    using model::Machine;
    const auto eager = [](Machine& m) -> model::EagerCosts& { return memory_of(m).eager; };
    return {
        own(free_parameter("model.memory.read_efficiency",
                           [](Machine& m) -> double& { return memory_of(m).read_efficiency; })),
        own(free_parameter("model.memory.turnaround",
                           [](Machine& m) -> double& { return memory_of(m).turnaround; })),
        free_parameter("model.eager.launch", [=](Machine& m) -> Time& { return eager(m).launch; }),
        free_parameter("model.eager.softmax_trips",
                       [=](Machine& m) -> double& { return eager(m).softmax_trips; }),
        free_parameter("model.eager.softmax_reductions",
                       [=](Machine& m) -> Time& { return eager(m).softmax_reductions; }),
        free_parameter("model.eager.norm_trips",
                       [=](Machine& m) -> double& { return eager(m).norm_trips; }),
        free_parameter("model.eager.norm_reductions",
                       [=](Machine& m) -> Time& { return eager(m).norm_reductions; }),
        free_parameter("model.eager.drain_rows",
                       [=](Machine& m) -> double& { return eager(m).drain_rows; }),
        free_parameter("model.eager.reuse_l1",
                       [=](Machine& m) -> double& { return eager(m).reuse_l1; }),
        free_parameter("model.eager.reuse_l2",
                       [=](Machine& m) -> double& { return eager(m).reuse_l2; }),
        free_parameter("model.eager.reuse_steepness",
                       [=](Machine& m) -> double& { return eager(m).reuse_steepness; }),
    };
}

std::string group_of(const MeasuredRow& row, const model::Prediction& prediction) {
    std::string group = row.gpu + " " + std::string(model::name_of(row.operation));
    const auto* const rows = std::get_if<model::RowWise>(&row.operation);
    if (rows == nullptr) return group;
    constexpr std::int64_t short_rows = 2560;
    if (rows->kind == model::RowKind::softmax && rows->cols <= 1024) return group + " one pass";
    const bool known = prediction.work.kernels == 1;
    return known && rows->cols < short_rows ? group + " short rows" : group + " long rows";
}

/// Rows of one number of elements or columns are held out together.
std::string shape_of(const MeasuredRow& row) {
    const std::string name(model::name_of(row.operation));
    if (const auto* rows = std::get_if<model::RowWise>(&row.operation)) {
        return name + std::to_string(rows->cols);
    }
    return name + std::to_string(std::get<model::Elementwise>(row.operation).elements);
}

}  // namespace

std::vector<FitReport> fit_memory(const FitRequest& request) {
    const auto rows = read_folder(request.data, {"elementwise", "softmax", "layernorm"});
    std::vector<FitReport> reports;
    for (FitProblem& problem : split_rows(rows, request)) {
        problem.parameters = memory_parameters();
        problem.group = group_of;
        problem.fold_key = shape_of;
        reports.push_back(run_fit(problem));
    }
    return reports;
}

}  // namespace ridge::measure
