// Fits the kernels of collectives to records of `ridge measure --suite collectives`.
//
// Only kernels from a common start count, without additions in the switch. All records are fitted
// together, of whatever number of GPUs: which section a row needs is the model's choice.
#include "measure/fit/fit.h"

namespace ridge::measure {
namespace {

bool is_kernel_of_collective(const MeasuredRow& row) {
    const auto* const op = std::get_if<model::Collective>(&row.operation);
    return op != nullptr && op->nvls == model::SwitchAddition::off &&
           row.execution.launch == model::LaunchMode::kernel;
}

std::vector<FreeParameter> kernel_parameters(const model::Machine& machine) {
    constexpr std::array sections{"ll", "ll128", "simple", "longer", "all_to_all", "send"};
    std::vector<FreeParameter> all;
    for (const std::string_view section : sections) {
        const auto parameters = free_parameters("collective.kernel." + std::string(section),
                                                model::Origin::records, machine);
        all.insert(all.end(), parameters.begin(), parameters.end());
    }
    return all;
}

}  // namespace

std::vector<FitReport> fit_collective_kernels(const FitRequest& request) {
    std::vector<MeasuredRow> rows;
    for (MeasuredRow& row : record_rows(request)) {
        if (is_kernel_of_collective(row)) rows.push_back(std::move(row));
    }
    return fit_by_shape(rows, request, kernel_parameters);
}

}  // namespace ridge::measure
