#include "model/predict.h"

#include <algorithm>
#include <cmath>

namespace ridge::model {

Outcome predict(const Operation& operation, const Execution& execution, const Machine& machine) {
    return std::visit([&](const auto& op) { return predict(op, execution, machine); }, operation);
}

WorkloadPrediction predict(const Workload& workload, const Execution& execution,
                           const Machine& machine) {
    WorkloadPrediction total;
    double below = 0.0;
    double above = 0.0;
    total.work.kernels = 0;
    for (const Operation& operation : workload) {
        const Outcome outcome = predict(operation, execution, machine);
        total.parts.push_back(outcome);
        const Prediction* part = std::get_if<Prediction>(&outcome);
        if (part == nullptr) {
            ++total.not_modelled;
            continue;
        }
        total.work += part->work;
        total.time += part->time;
        total.largest_footprint = std::max(total.largest_footprint, part->footprint);
        below += std::pow((part->time - part->low).base(), 2);
        above += std::pow((part->high - part->time).base(), 2);
    }
    total.low = total.time - Time::from_base(std::sqrt(below));
    total.high = total.time + Time::from_base(std::sqrt(above));
    return total;
}

}  // namespace ridge::model
