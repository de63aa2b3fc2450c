// Fits the bundled attention kernels to records of one GPU.
//
// Each kernel (mma, wgmma, decode) and the softmax of the unfused implementation is fitted
// separately: they share no parameter. Rows of one operation are held out together.
#include "measure/fit/fit.h"
#include "model/attention/bundled.h"

namespace ridge::measure {
namespace {

using model::Implementation;

/// The kernel that a row ran; empty if it is not one of these.
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

std::vector<FreeParameter> parameters_of_kernel(const FitProblem& problem,
                                                const std::string& kernel) {
    return free_parameters("attention." + kernel, model::Origin::records,
                           problem.machines.begin()->second);
}

}  // namespace

std::vector<FitReport> fit_bundled_attention(const FitRequest& request) {
    return fit_kernels(request, kernel_of, parameters_of_kernel);
}

}  // namespace ridge::measure
