#include "programs/step_energy.h"

namespace ridge::programs {

std::optional<model::EnergySum> energy_sum(const Program& program, const ProgramTime& time) {
    model::EnergySum sum;
    for (std::size_t i = 0; i < program.entries.size(); ++i) {
        const auto* const part = std::get_if<model::Prediction>(&time.outcomes[i]);
        if (part == nullptr) return std::nullopt;
        if (part->time <= Time{}) continue;
        if (!part->energy) return std::nullopt;
        sum.add(*part, static_cast<double>(program.entries[i].count));
    }
    if (sum.empty()) return std::nullopt;
    return sum;
}

std::optional<model::StepEnergy> energy_of(const Program& program, const ProgramTime& time,
                                           Time wall) {
    const auto sum = energy_sum(program, time);
    if (!sum) return std::nullopt;
    return sum->during(wall);
}

}  // namespace ridge::programs
