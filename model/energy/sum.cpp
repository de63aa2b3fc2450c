#include "model/energy/sum.h"

#include <algorithm>

namespace ridge::model {

void EnergySum::add(const Prediction& part, double count) {
    const EnergyEstimate& e = part.energy.value();
    above_idle_ += count * (e.energy - e.idle * e.period);
    under_ += count * (e.energy - e.energy_low);
    over_ += count * (e.energy_high - e.energy);
    busy_ += count * e.period;
    if (e.limit == ClockLimit::power) {
        slower_ += count * std::max(Time{}, e.period - part.time);
    }
    idle_ = e.idle;
    evidence_ = std::min(evidence_, e.evidence);
}

StepEnergy EnergySum::during(Time wall) const {
    const Time period = wall + slower_;
    const Energy energy = above_idle_ + idle_ * period;
    return {.energy = energy,
            .low = std::max(Energy{}, energy - under_),
            .high = energy + over_,
            .power = period > Time{} ? energy / period : Power{},
            .period = period};
}

}  // namespace ridge::model
