#include "programs/utilisation.h"

#include <algorithm>

namespace ridge::programs {
namespace {

/// Time at the peak of its type; zero for kernels that multiply no matrices. (W10)
Time at_peak(const model::Prediction& p) {
    const bool multiplies = p.work.tensor > Flop{} || p.executed_fma > Flop{};
    if (!multiplies || p.peak <= FlopRate{}) return Time{};
    return p.work.flop() / p.peak;
}

}  // namespace

Time time_at_peak(const ModelStep& step, const StepTime& time,
                  const std::function<bool(const Entry&)>& counted) {
    Time forward;
    Time all;
    const auto& entries = step.program.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!counted(entries[i])) continue;
        const auto* const p = std::get_if<model::Prediction>(&time.gpu.outcomes[i]);
        if (p == nullptr) continue;
        const Time each = at_peak(*p) * static_cast<double>(entries[i].count);
        all += each;
        if (entries[i].pass == Pass::forward) forward += each;
    }
    // A backward pass multiplies twice as much as the forward pass; what runs again to save memory
    // is not counted.
    constexpr double passes_of_training = 3.0;
    return step.training ? std::min(all, passes_of_training * forward) : all;
}

Utilisation utilisation_of(const ModelStep& step, const StepTime& time,
                           const model::Machine& machine) {
    if (!time.gpu.total.left_out.empty() || time.wall <= Time{}) return {};
    Utilisation used;
    const Time counted = time_at_peak(step, time, [](const Entry&) { return true; });
    if (counted > Time{}) used.flop = counted / time.wall;
    used.bandwidth = time.gpu.total.work.dram() / machine.dram_bandwidth / time.wall;
    return used;
}

}  // namespace ridge::programs
