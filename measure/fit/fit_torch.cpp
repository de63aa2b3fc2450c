// Fits what a GPU contributes to the time of PyTorch's kernels (`model.torch`) to records of
// scripts/measure/torch-kernels.py. This includes how much dirty data an L2 flush by writing leaves behind.
#include <array>

#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "measure/record/record.h"

namespace ridge::measure {
namespace {

bool is_pytorch(const MeasuredRow& row) {
    const bool streams = !std::holds_alternative<model::Matmul>(row.operation) &&
                         !std::holds_alternative<model::Attention>(row.operation);
    return streams && row.execution.launch == model::LaunchMode::kernel &&
           (model::is_framework(row.execution.implementation) ||
            model::needs_framework(row.operation));
}

std::vector<FreeParameter> torch_parameters_of(const model::Machine& machine) {
    auto all = free_parameters("torch", model::Origin::records, machine);
    for (const FreeParameter& each : free_parameters("l2", model::Origin::records, machine)) {
        if (each.parameter->name == "dirty") all.push_back(each);
    }
    return all;
}

}  // namespace

std::vector<FitReport> fit_torch(const FitRequest& request) {
    if (request.records.empty()) {
        throw InputError("PyTorch's kernels are fitted to records", {}, "give them with --records");
    }
    std::vector<MeasuredRow> rows = record_rows(request);
    std::erase_if(rows, [](const MeasuredRow& row) { return !is_pytorch(row); });
    return fit_by_shape(rows, request, torch_parameters_of);
}

}  // namespace ridge::measure
