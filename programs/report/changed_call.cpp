#include "programs/report/changed_call.h"

namespace ridge::programs {
namespace {

/// By its shapes: what the report says of a row, unless the row's law uses its kernels.
std::optional<Time> time_by_shapes(const OperatorRow& row, Understood understood,
                                   const model::Machine& machine) {
    if (understood.by_launches == nullptr && understood.by_kernels == nullptr) {
        if (!row.predicted) return {};
        return *row.predicted / static_cast<double>(row.count);
    }
    understood.by_launches = nullptr;
    understood.by_kernels = nullptr;
    const CallPrediction one = predict(understood, machine);
    if (!one.reason.empty()) return {};
    return one.answer.time;
}

std::optional<Time> time_of_call(const Call& call, const model::Machine& machine) {
    const auto understood = operations_of(call);
    if (!understood) return {};
    const CallPrediction one = predict(*understood, machine);
    if (!one.reason.empty()) return {};
    return one.answer.time;
}

}  // namespace

std::optional<double> changed_time(const OperatorRow& row, const Understood& understood,
                                   const Call& changed, const model::Machine& machine) {
    const auto before = time_by_shapes(row, understood, machine);
    if (!before || *before <= Time{}) return {};
    const auto after = time_of_call(changed, machine);
    if (!after) return {};
    return *after / *before;
}

}  // namespace ridge::programs
