#include "model/roof/width.h"

#include <algorithm>
#include <cmath>

#include "model/roof/band_data.h"

namespace ridge::model {
namespace {

const Widths& width_logs() {
    static const auto logs = [] {
        Widths made{};
        std::transform(width_times.begin(), width_times.end(), made.begin(),
                       [](double time) { return std::log(time); });
        return made;
    }();
    return logs;
}

}  // namespace

WidthPlace width_place(Time time) {
    const auto& logs = width_logs();
    const double at = std::log(time / units::us);
    std::size_t below = 0;
    while (below + 2 < logs.size() && at > logs[below + 1]) ++below;
    const double part = (at - logs[below]) / (logs[below + 1] - logs[below]);
    return {.below = below, .part = std::clamp(part, 0.0, 1.0)};
}

double width_at(BandClass band_class, Time time) {
    const auto index = static_cast<std::size_t>(band_class);
    if (index >= band_class_count) return 1.0;
    const std::optional<Widths>& widths = band_data().widths[index];
    return widths ? width_between(*widths, width_place(time)) : 1.0;
}

double width_of_kernel(OperationKind kind, Implementation implementation) {
    for (const KernelWidth& each : band_data().kernels) {
        if (each.kind == kind && each.implementation == implementation) return each.factor;
    }
    return 1.0;
}

}  // namespace ridge::model
