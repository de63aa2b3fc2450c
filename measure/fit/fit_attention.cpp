// Fits the attention time model to prefill and decode times of a serving engine.
//
// Free are the fields of `model.attention.flash2`, `.flash3` or `.flashinfer` that the rows determine; those that
// they cannot (which no row exercises, or which always act together with another) keep their
// described values. Rows of one batch and number of heads are held out together; classes are the
// regimes of the band table. With several GPUs all parameters are shared: the family's values.
#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "model/attention/time.h"

namespace ridge::measure {
namespace {

using model::FlashParameters;
using model::Implementation;
using model::Machine;

std::string_view section_of(Implementation implementation) {
    if (implementation == Implementation::flashinfer) return "attention.flashinfer";
    return implementation == Implementation::flash3 ? "attention.flash3" : "attention.flash2";
}

const FlashParameters& flash_of(const Machine& machine, Implementation implementation) {
    RIDGE_CONTRACT(machine.attention.has_value());
    const model::AttentionParameters& all = *machine.attention;
    const auto& flash = implementation == Implementation::flashinfer ? all.flashinfer
                        : implementation == Implementation::flash3   ? all.flash3
                                                                     : all.flash2;
    return flash.value();
}

/// The regime of a row, as the described parameters see it.
std::string regime_of(const MeasuredRow& row, const Machine& machine) {
    const auto& op = std::get<model::Attention>(row.operation);
    const Implementation implementation = row.execution.implementation;
    const model::AttentionTime time = model::attention_time(
        op, model::count_attention(op, implementation, model::attention_context(machine)),
        implementation, flash_of(machine, implementation), row.execution, machine);
    return std::string(model::name_of(time.regime));
}

std::string heads_of(const MeasuredRow& row) {
    const auto& op = std::get<model::Attention>(row.operation);
    return std::to_string(op.batch) + "/" + std::to_string(op.heads);
}

}  // namespace

std::vector<FitReport> fit_attention(const FitRequest& request) {
    if (!request.records.empty()) return fit_bundled_attention(request);
    const auto rows =
        read_folder(request.data, {"attention_prefill", "attention_decode"}, request.keep);
    std::vector<FitReport> reports;
    for (FitProblem& problem : split_rows(rows, request)) {
        problem.parameters =
            free_parameters(section_of(problem.rows.front().execution.implementation),
                            model::Origin::tables, problem.machines.begin()->second);
        problem.group = [machines = problem.machines](const MeasuredRow& row,
                                                      const model::Prediction&) {
            return regime_of(row, machines.at(row.gpu));
        };
        problem.fold_key = heads_of;
        reports.push_back(run_fit(problem));
    }
    return reports;
}

}  // namespace ridge::measure
