// Fits the attention time model to prefill and decode times of a serving engine.
//
// The free fields are those of `model.attention.flash2`, `.flash3` or `.flashinfer`, and of
// `.flash3_kv8` or `.flashinfer_kv8` for rows over an 8-bit cache. Fields that the rows cannot
// determine (no row uses them, or they always act together with another) keep their described
// values. Rows with the same batch and number of heads are held out together; classes are the
// regimes of the band table. Several GPUs share all parameters: these are the values of the family.
#include <algorithm>
#include <map>

#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "model/attention/time.h"
#include "model/predict.h"

namespace ridge::measure {
namespace {

using model::FlashParameters;
using model::Implementation;
using model::Machine;

/// Gives a row without an implementation the one that the model chooses.
void name_implementation(MeasuredRow& row, const FitRequest& request) {
    if (row.execution.implementation != Implementation::automatic) return;
    const model::Outcome outcome =
        model::predict(row.operation, row.execution, request.machine(row.gpu));
    if (const auto* const prediction = std::get_if<model::Prediction>(&outcome)) {
        row.execution.implementation = prediction->implementation;
    }
}

std::string attention_section(const MeasuredRow& row) {
    const auto& op = std::get<model::Attention>(row.operation);
    const std::string name(name_of(row.execution.implementation));
    return "attention." + (cache_type_of(op) == op.type ? name : name + "_kv8");
}

const FlashParameters& flash_of(const Machine& machine, const MeasuredRow& row) {
    const std::string section = attention_section(row);
    for (const auto& each : model::flash_sections()) {
        if (each.path == section) return *each.find(machine);
    }
    throw InputError("impl " + std::string(name_of(row.execution.implementation)) +
                     " has no parameters to fit");
}

/// The regime of a row according to the described parameters.
std::string regime_of(const MeasuredRow& row, const Machine& machine) {
    const auto& op = std::get<model::Attention>(row.operation);
    const Implementation implementation = row.execution.implementation;
    const model::AttentionTime time = model::attention_time(
        op, model::count_attention(op, implementation, model::attention_context(machine)),
        implementation, flash_of(machine, row), row.execution, machine);
    return std::string(model::name_of(time.regime));
}

std::string attention_heads(const MeasuredRow& row) {
    const auto& op = std::get<model::Attention>(row.operation);
    return std::to_string(op.batch) + "/" + std::to_string(op.heads);
}

/// Whether all requested GPUs have rows; true when none is named.
bool has_rows(const std::vector<MeasuredRow>& rows, const std::vector<std::string>& gpus) {
    return std::all_of(gpus.begin(), gpus.end(), [&rows](const std::string& gpu) {
        return std::any_of(rows.begin(), rows.end(),
                           [&gpu](const MeasuredRow& row) { return row.gpu == gpu; });
    });
}

}  // namespace

std::vector<FitReport> fit_attention(const FitRequest& request) {
    if (!request.records.empty()) return fit_bundled_attention(request);
    std::map<std::string, std::vector<MeasuredRow>> kernels;
    for (MeasuredRow& row :
         table_rows(request, {"attention_prefill", "attention_decode", "attention_kv8"})) {
        name_implementation(row, request);
        kernels[attention_section(row)].push_back(std::move(row));
    }
    std::vector<FitReport> reports;
    for (const auto& [section, rows] : kernels) {
        if (!has_rows(rows, request.gpus)) continue;
        for (FitProblem& problem : split_rows(rows, request)) {
            problem.parameters =
                free_parameters(section, model::Origin::tables, problem.machines.begin()->second);
            problem.group = [machines = problem.machines](const MeasuredRow& row,
                                                          const model::Prediction&) {
                return regime_of(row, machines.at(row.gpu));
            };
            problem.fold_key = attention_heads;
            reports.push_back(run_fit(problem));
            if (section.ends_with("_kv8")) reports.back().name += " " + section;
        }
    }
    return reports;
}

}  // namespace ridge::measure
