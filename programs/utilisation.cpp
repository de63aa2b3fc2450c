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

Utilisation utilisation_of(const ModelStep& step, const StepTime& time,
                           const model::Machine& machine) {
    if (!time.gpu.total.left_out.empty() || time.wall <= Time{}) return {};
    Time forward;
    Time all;
    const auto& entries = step.program.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto& p = std::get<model::Prediction>(time.gpu.outcomes[i]);
        const Time each = at_peak(p) * static_cast<double>(entries[i].count);
        all += each;
        if (entries[i].pass == Pass::forward) forward += each;
    }
    Utilisation used;
    // A backward pass multiplies twice as much as the forward pass; what runs again to save memory
    // is not counted.
    constexpr double passes_of_training = 3.0;
    const Time counted = step.training ? std::min(all, passes_of_training * forward) : all;
    if (counted > Time{}) used.flop = counted / time.wall;
    used.bandwidth = time.gpu.total.work.dram() / machine.dram_bandwidth / time.wall;
    return used;
}

}  // namespace ridge::programs
