#include "model/roof/width.h"

#include <algorithm>
#include <cmath>

namespace ridge::model {
namespace {

using Widths = std::array<double, width_times.size()>;

struct ClassWidths {
    BandClass band_class;
    Widths at;
    int rows;
};

struct KernelWidth {
    OperationKind kind;
    Implementation implementation;
    double factor;
    int rows;
};

constexpr std::array class_widths{
#include "model/roof/class_widths.inc"
};

constexpr std::array kernel_widths{
#include "model/roof/kernel_widths.inc"
};

constexpr auto make_widths_of_classes() {
    std::array<const Widths*, band_class_count> all{};
    for (const ClassWidths& each : class_widths) {
        all[static_cast<std::size_t>(each.band_class)] = &each.at;
    }
    return all;
}
constexpr auto widths_of_classes = make_widths_of_classes();

const std::array<double, width_times.size()>& width_logs() {
    static const auto logs = [] {
        std::array<double, width_times.size()> made{};
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
    const Widths* const widths = index < band_class_count ? widths_of_classes[index] : nullptr;
    return widths == nullptr ? 1.0 : width_between(*widths, width_place(time));
}

double width_of_kernel(OperationKind kind, Implementation implementation) {
    for (const KernelWidth& each : kernel_widths) {
        if (each.kind == kind && each.implementation == implementation) return each.factor;
    }
    return 1.0;
}

}  // namespace ridge::model
