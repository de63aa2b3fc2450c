// Fits the time model of latent attention to times of a serving engine.
//
// Each GPU, phase and cache type is a separate fit, because each runs its own kernels. Rows with
// the same batch and number of heads are held out together.
#include <map>

#include "measure/fit/fit.h"

namespace ridge::measure {
namespace {

std::string mla_section(const MeasuredRow& row) {
    const auto& op = std::get<model::Mla>(row.operation);
    const std::string phase = op.phase == model::MlaPhase::decode ? "mla.decode" : "mla.prefill";
    return size_of(cache_type_of(op)) == 1 ? phase + "_8bit" : phase;
}

std::string mla_heads(const MeasuredRow& row) {
    const auto& op = std::get<model::Mla>(row.operation);
    return std::to_string(op.batch) + "/" + std::to_string(op.heads);
}

}  // namespace

std::vector<FitReport> fit_mla(const FitRequest& request) {
    std::map<std::string, std::vector<MeasuredRow>> kernels;
    for (MeasuredRow& row : table_rows(request, {"mla_"})) {
        kernels[mla_section(row)].push_back(std::move(row));
    }
    std::vector<FitReport> reports;
    for (const auto& [section, rows] : kernels) {
        for (FitProblem& problem : split_rows(rows, request)) {
            problem.parameters =
                free_parameters(section, model::Origin::tables, problem.machines.begin()->second);
            problem.group = [name = section](const MeasuredRow& row, const model::Prediction&) {
                return row.gpu + " " + name;
            };
            problem.fold_key = mla_heads;
            reports.push_back(run_fit(problem));
            reports.back().name += " " + section;
        }
    }
    return reports;
}

}  // namespace ridge::measure
