// Fits the attention time model to prefill and decode times of a serving engine.
//
// Free are the fields of `model.attention.flash2` or `.flash3` that the rows determine; those that
// they cannot (which no row exercises, or which always act together with another) keep their
// described values. Rows of one batch and number of heads are held out together; classes are the
// regimes of the band table. With several GPUs all parameters are shared: the family's values.
#include <algorithm>
#include <array>

#include "hardware/error.h"
#include "hardware/schema.h"
#include "measure/fit/fit.h"
#include "model/attention/time.h"

namespace ridge::measure {
namespace {

using model::FlashParameters;
using model::Implementation;
using model::Machine;

/// The field was fitted: the others are read off figures or carried over, as their notes say.
bool is_free(std::string_view name, Implementation implementation) {
    static constexpr std::array<std::string_view, 19> flash3{
        "start",       "softmax_fraction", "tile",           "decode_tile",  "tile_rows",
        "bulk_rows",   "tile_columns",     "decode_columns", "split_tile",   "load",
        "l2_fraction", "dram_fraction",    "dram_start",     "droop",        "cache_write",
        "scan",        "combine",          "combine_split",  "combine_block"};
    static constexpr std::array<std::string_view, 16> flash2{
        "start",       "page_block",    "lone_block_factor", "tile",
        "decode_tile", "tile_rows",     "l2_fraction",       "dram_fraction",
        "dram_start",  "droop",         "cache_write",       "fold",
        "copy",        "copy_fraction", "combine",           "combine_split"};
    const auto among = [name](const auto& names) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    return implementation == Implementation::flash3 ? among(flash3) : among(flash2);
}

std::string_view section_of(Implementation implementation) {
    return implementation == Implementation::flash3 ? "model.attention.flash3."
                                                    : "model.attention.flash2.";
}

FlashParameters& flash_of(Machine& machine, Implementation implementation) {
    if (machine.attention) {
        auto& flash = implementation == Implementation::flash3 ? machine.attention->flash3
                                                               : machine.attention->flash2;
        if (flash) return *flash;
    }
    throw InputError("GPU '" + machine.name + "' has no " +
                     std::string(section_of(implementation)) + "start to fit from");
}

std::vector<FreeParameter> attention_parameters(Implementation implementation) {
    std::vector<FreeParameter> parameters;
    for (const auto& field : model::parameter_fields<FlashParameters>()) {
        if (!is_free(field.name, implementation)) continue;
        const std::string path = std::string(section_of(implementation)) + std::string(field.name);
        const hardware::Field* const known = hardware::find_field(path);
        RIDGE_CONTRACT(known != nullptr);
        parameters.push_back({.field = path,
                              .dimension = known->dimension,
                              .read =
                                  [=](const Machine& machine) {
                                      Machine copy = machine;
                                      return field.read(flash_of(copy, implementation));
                                  },
                              .write =
                                  [=](Machine& machine, double value) {
                                      field.write(flash_of(machine, implementation), value);
                                  }});
    }
    return parameters;
}

/// The regime of a row, as the described parameters see it.
std::string regime_of(const MeasuredRow& row, Machine machine) {
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
    const auto rows = read_folder(request.data, {"attention_prefill", "attention_decode"});
    std::vector<FitReport> reports;
    for (FitProblem& problem : split_rows(rows, request)) {
        problem.parameters = attention_parameters(problem.rows.front().execution.implementation);
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
