// Fits the time model of collectives to NCCL times of one or more GPUs on the same kind of fabric.
//
// Every field of model.collective is free, except the number of GPUs from which the switch adds.
// The estimates of the library's tuner are not fitted: they decide the protocol, not the time.
#include "measure/fit/fit.h"

namespace ridge::measure {
namespace {

/// The parameters of the links, and of the switch if it does the additions.
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

/// Rows with the same operation, number of GPUs and size are held out together.
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
