// Fits the time model of collectives to NCCL times of one or more GPUs on the same kind of fabric.
//
// Free is every field of model.collective but the GPUs from which on the switch adds. What the
// library's tuner believes is not fitted: it decides the protocol, not the time.
#include "measure/fit/fit.h"

namespace ridge::measure {
namespace {

/// The links, and the switch where it adds.
std::vector<FreeParameter> collective_parameters(const model::Machine& machine) {
    auto parameters = free_parameters("collective", model::Origin::tables, machine);
    if (machine.fabric->nvls_gpus > 0) {
        const auto nvls = free_parameters("collective.nvls", model::Origin::tables, machine);
        parameters.insert(parameters.end(), nvls.begin(), nvls.end());
    }
    return parameters;
}

std::string collective_group(const MeasuredRow& row, const model::Prediction&) {
    return row.gpu + " " + std::string(model::name_of(row.operation));
}

/// Rows of one operation, number of GPUs and size are held out together.
std::string collective_shape(const MeasuredRow& row) {
    const auto& op = std::get<model::Collective>(row.operation);
    return std::string(model::name_of(row.operation)) + std::to_string(op.gpus) + "/" +
           std::to_string(op.bytes);
}

}  // namespace

std::vector<FitReport> fit_collective(const FitRequest& request) {
    std::vector<FitReport> reports;
    for (FitProblem& problem : split_rows(table_rows(request, {"collectives"}), request)) {
        problem.parameters = collective_parameters(problem.machines.begin()->second);
        problem.group = collective_group;
        problem.fold_key = collective_shape;
        reports.push_back(run_fit(problem));
    }
    return reports;
}

}  // namespace ridge::measure
