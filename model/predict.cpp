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

std::vector<Implementation> implementations_of(const Operation& operation, const Machine& machine) {
    std::vector<Implementation> found;
    const auto consider = [&](Implementation asked) {
        const Outcome outcome = predict(operation, {.implementation = asked}, machine);
        const Prediction* prediction = std::get_if<Prediction>(&outcome);
        if (prediction == nullptr) return;
        const Implementation resolved = prediction->implementation;
        if (std::find(found.begin(), found.end(), resolved) == found.end()) {
            found.push_back(resolved);
        }
    };
    constexpr auto last = static_cast<std::uint8_t>(Implementation::wgmma);
    for (std::uint8_t value = 0; value <= last; ++value) {
        consider(static_cast<Implementation>(value));
    }
    return found;
}

}  // namespace ridge::model
