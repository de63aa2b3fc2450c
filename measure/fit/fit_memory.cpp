// Fits the time model of memory-bound kernels: to eager elementwise, softmax and layer-norm times
// of tables, or to records of the bundled kernels.
//
// Tables: free are the DRAM efficiencies that such rows determine (pure reads, the mix; pure writes
// do not occur in them) and the costs of eager kernels. With several GPUs the efficiencies are each
// GPU's own and the costs are shared. Records: the DRAM efficiencies, the L2's write rate and
// `model.bundled.*` of one GPU.

#include <algorithm>
#include <array>

#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "measure/record/record.h"

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

/// A rate of all multiprocessors whose field is per clock of one.
FreeParameter per_clock(std::string field, Bandwidth& (*place)(model::MemoryParameters&)) {
    const auto clocks = [](const model::MemoryParameters& m) { return m.clock * m.sm_count; };
    FreeParameter parameter{
        .field = std::move(field), .dimension = BytesPerCycle::dimension, .read = {}, .write = {}};
    parameter.read = [=](model::Machine machine) {
        model::MemoryParameters& memory = memory_of(machine);
        return (place(memory) / clocks(memory)).base();
    };
    parameter.write = [=](model::Machine& machine, double value) {
        model::MemoryParameters& memory = memory_of(machine);
        place(memory) = BytesPerCycle::from_base(value) * clocks(memory);
    };
    return parameter;
}

std::vector<FreeParameter> bundled_parameters() {
    using model::Machine;
    const auto bundled = [](Machine& m) -> model::BundledCosts& { return memory_of(m).bundled; };
    return {
        free_parameter("model.memory.read_efficiency",
                       [](Machine& m) -> double& { return memory_of(m).read_efficiency; }),
        free_parameter("model.memory.write_efficiency",
                       [](Machine& m) -> double& { return memory_of(m).write_efficiency; }),
        free_parameter("model.memory.turnaround",
                       [](Machine& m) -> double& { return memory_of(m).turnaround; }),
        per_clock("model.memory.l2_write",
                  [](model::MemoryParameters& m) -> Bandwidth& { return m.l2_write; }),
        free_parameter("model.bundled.first_dram",
                       [=](Machine& m) -> Time& { return bundled(m).first_dram; }),
        free_parameter("model.bundled.first_l2",
                       [=](Machine& m) -> Time& { return bundled(m).first_l2; }),
        free_parameter("model.bundled.resident",
                       [=](Machine& m) -> double& { return bundled(m).resident; }),
        free_parameter("model.bundled.absorbed",
                       [=](Machine& m) -> double& { return bundled(m).absorbed; }),
        free_parameter("model.bundled.reuse",
                       [=](Machine& m) -> double& { return bundled(m).reuse; }),
        free_parameter("model.bundled.reduction",
                       [=](Machine& m) -> Time& { return bundled(m).reduction; }),
        free_parameter("model.bundled.vector_rate",
                       [=](Machine& m) -> double& { return bundled(m).vector_rate; }),
        free_parameter("model.bundled.element_rate",
                       [=](Machine& m) -> double& { return bundled(m).element_rate; }),
        free_parameter("model.bundled.element_tile",
                       [=](Machine& m) -> Time& { return bundled(m).element_tile; }),
        per_clock("model.bundled.scatter",
                  [](model::MemoryParameters& m) -> Bandwidth& { return m.bundled.scatter; }),
        free_parameter("model.bundled.scatter_tile",
                       [=](Machine& m) -> Time& { return bundled(m).scatter_tile; }),
    };
}

bool streams(const MeasuredRow& row) {
    using Kind = model::OperationKind;
    constexpr std::array kinds{Kind::elementwise, Kind::softmax,   Kind::layernorm, Kind::rmsnorm,
                               Kind::sum,         Kind::transpose, Kind::copy,      Kind::gather};
    return std::find(kinds.begin(), kinds.end(), row.kind) != kinds.end() &&
           row.execution.implementation != model::Implementation::eager;
}

/// Bundled kernels by operation and implementation; rows of one shape are held out together.
std::vector<FitReport> fit_bundled(const FitRequest& request) {
    std::vector<MeasuredRow> rows = read_record_rows(
        request.records, [&](const std::string& driver) { return request.machine(driver).name; });
    std::erase_if(rows, [](const MeasuredRow& row) { return !streams(row); });
    if (rows.empty())
        throw InputError("no records of streaming kernels", {request.records.front(), 0, 0});
    std::vector<FitReport> reports;
    for (FitProblem& problem : split_rows(rows, request)) {
        problem.parameters = bundled_parameters();
        problem.group = [](const MeasuredRow& row, const model::Prediction& prediction) {
            return std::string(model::name_of(row.operation)) + " " +
                   std::string(model::name_of(prediction.implementation));
        };
        problem.fold_key = [](const MeasuredRow& row) { return canonical_text(row.operation); };
        reports.push_back(run_fit(problem));
    }
    return reports;
}

}  // namespace

std::vector<FitReport> fit_memory(const FitRequest& request) {
    if (!request.records.empty()) return fit_bundled(request);
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
