// Fits the time model of expert blocks (MoE) to times of a serving engine.
//
// Each GPU is one fit, or all GPUs that are named together. The products keep the parameters of
// `model.matmul`. Rows with the same expert shape and split are held out together. Rows whose tiles
// may have been tuned for another model are left out.
#include "measure/fit/expert_rows.h"
#include "measure/fit/fit.h"

namespace ridge::measure {
namespace {

std::string moe_group(const MeasuredRow& row, const model::Prediction& prediction) {
    return row.gpu + " " + std::string(name_of(type_of(row.operation))) + " " +
           std::string(name_of(prediction.limiter));
}

std::string expert_of(const MeasuredRow& row) {
    const auto& op = std::get<model::Moe>(row.operation);
    return std::to_string(op.hidden) + "x" + std::to_string(op.intermediate) + "/" +
           std::to_string(op.experts) + "/" + std::to_string(op.tp) + "/" + std::to_string(op.ep);
}

}  // namespace

std::vector<FitReport> fit_moe(const FitRequest& request) {
    std::vector<FitReport> reports;
    const std::vector<MeasuredRow> rows = split_experts(table_rows(request, {"moe_"})).own;
    for (FitProblem& problem : split_rows(rows, request)) {
        problem.parameters =
            free_parameters("moe", model::Origin::tables, problem.machines.begin()->second);
        problem.group = moe_group;
        problem.fold_key = expert_of;
        reports.push_back(run_fit(problem));
    }
    return reports;
}

}  // namespace ridge::measure
