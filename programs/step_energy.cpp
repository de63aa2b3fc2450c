#include "programs/step_energy.h"

namespace ridge::programs {

namespace {

template <typename Counted>
std::optional<model::EnergySum> sum_of(const Program& program, const ProgramTime& time,
                                       const Counted& counted) {
    model::EnergySum sum;
    for (std::size_t i = 0; i < program.entries.size(); ++i) {
        if (!counted(program.entries[i])) continue;
        const auto* const part = std::get_if<model::Prediction>(&time.outcomes[i]);
        if (part == nullptr) return std::nullopt;
        if (part->time <= Time{}) continue;
        if (!part->energy) return std::nullopt;
        sum.add(*part, static_cast<double>(program.entries[i].count));
    }
    if (sum.empty()) return std::nullopt;
    return sum;
}

}  // namespace

std::optional<model::EnergySum> energy_sum(const Program& program, const ProgramTime& time) {
    return sum_of(program, time, [](const Entry&) { return true; });
}

std::optional<model::StepEnergy> energy_of(const Program& program, const ProgramTime& time,
                                           Time wall) {
    const auto sum = energy_sum(program, time);
    if (!sum) return std::nullopt;
    return sum->during(wall);
}

std::optional<Energy> energy_of_image(const ModelStep& step, const StepTime& time,
                                      std::int64_t sequences) {
    if (step.images < 1 || step.inputs.of_audio > 0 || step.tokens < 1) return std::nullopt;
    const auto whole = energy_of(step.program, time.gpu, time.wall);
    const auto encoder = sum_of(step.program, time.gpu,
                                [](const Entry& entry) { return entry.module == Module::encoder; });
    if (!whole || !encoder) return std::nullopt;
    const Energy encoding = encoder->during(encoder->busy()).energy;
    const double share =
        static_cast<double>(step.inputs.of_image) / static_cast<double>(step.tokens);
    const double each = 1.0 / static_cast<double>(step.images * sequences);
    return each * encoding + share * (whole->energy - encoding);
}

}  // namespace ridge::programs
