// Fits the bundled attention kernels to records of one GPU.
//
// Each kernel (mma, wgmma, decode) and the softmax of the unfused implementation is fitted by
// itself: they share no parameter. All fields are free but `tail` of wgmma, which only groups of
// heads larger than the L2 determine, `tile_miss` of mma, whose two thread blocks per SM hide it,
// and what the unfused implementation takes from the matrix products. Rows of one operation are
// held out together.
#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "hardware/error.h"
#include "hardware/schema.h"
#include "measure/fit/fit.h"
#include "model/attention/bundled.h"

namespace ridge::measure {
namespace {

using model::AttentionParameters;
using model::Implementation;
using model::Machine;

/// The fields of one set but `fixed` ones; `member` is where the sets hold it.
template <auto member>
std::vector<FreeParameter> parameters_of(const std::string& section,
                                         std::initializer_list<std::string_view> fixed = {}) {
    using Set = typename std::remove_cvref_t<decltype(AttentionParameters{}.*member)>::value_type;
    const auto place = [section](Machine& machine) -> Set& {
        if (machine.attention && *machine.attention.*member) return *(*machine.attention.*member);
        throw InputError("GPU '" + machine.name + "' has no " + section + "start to fit from");
    };
    std::vector<FreeParameter> parameters;
    for (const auto& field : model::parameter_fields<Set>()) {
        if (std::ranges::find(fixed, field.name) != fixed.end()) continue;
        const std::string path = section + std::string(field.name);
        const hardware::Field* const known = hardware::find_field(path);
        RIDGE_CONTRACT(known != nullptr);
        parameters.push_back(
            {.field = path,
             .dimension = known->dimension,
             .read = [=](Machine machine) { return field.read(place(machine)); },
             .write = [=](Machine& machine, double value) { field.write(place(machine), value); }});
    }
    return parameters;
}

std::vector<FreeParameter> softmax_parameters(const std::string& section) {
    const auto standard = [section](Machine& machine) -> model::StandardParameters& {
        if (machine.attention) return machine.attention->standard;
        throw InputError("GPU '" + machine.name + "' has no " + section + "kernel to fit from");
    };
    return {free_parameter(section + "l2_fraction",
                           [=](Machine& m) -> double& { return standard(m).l2_fraction; }),
            free_parameter(section + "softmax_row",
                           [=](Machine& m) -> Time& { return standard(m).softmax_row; }),
            free_parameter(section + "softmax_elements",
                           [=](Machine& m) -> double& { return standard(m).softmax_elements; })};
}

/// The kernel that a row ran; empty where it is not one of these.
std::string kernel_of(const MeasuredRow& row) {
    if (row.kind != model::OperationKind::attention) return {};
    const Implementation implementation = row.execution.implementation;
    if (implementation == Implementation::mma) {
        const auto& op = std::get<model::Attention>(row.operation);
        return model::decodes_with_splits(op) ? "decode" : "mma";
    }
    const bool known =
        implementation == Implementation::wgmma || implementation == Implementation::standard;
    return known ? std::string(name_of(implementation)) : std::string();
}

std::vector<FreeParameter> parameters_of_kernel(const FitProblem&, const std::string& kernel) {
    const std::string section = "model.attention." + kernel + ".";
    if (kernel == "mma") return parameters_of<&AttentionParameters::mma>(section, {"tile_miss"});
    if (kernel == "wgmma") {
        return parameters_of<&AttentionParameters::wgmma>(section, {"tail"});
    }
    if (kernel == "decode") return parameters_of<&AttentionParameters::decode>(section);
    return softmax_parameters(section);
}

}  // namespace

std::vector<FitReport> fit_bundled_attention(const FitRequest& request) {
    return fit_kernels(request, kernel_of, parameters_of_kernel);
}

}  // namespace ridge::measure
