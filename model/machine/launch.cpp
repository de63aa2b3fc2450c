#include "model/machine/launch.h"

#include <algorithm>
#include <string_view>

namespace ridge::model {
LaunchCosts resolve_launch(const hardware::Description& gpu, const Laws& laws) {
    const auto given = [&](std::string_view field, Time otherwise) {
        return gpu.quantity<Time>(field).value_or(otherwise);
    };
    const auto lacks = [&](std::string_view field) { return !gpu.quantity<Time>(field); };
    if (lacks("launch.kernel") && lacks("launch.graph") && lacks("launch.stream")) return {};
    LaunchCosts costs;
    costs.kernel = given("launch.kernel", Time{});
    costs.graph = std::max(costs.kernel, given("launch.graph", costs.kernel + laws.graph_gap));
    costs.stream = std::max(costs.graph, given("launch.stream", laws.stream));
    costs.call = std::max(costs.stream, given("launch.call", costs.stream + laws.events));
    return costs;
}

Time launch_overhead(const LaunchCosts& costs, LaunchMode mode, double kernels, Time duration) {
    switch (mode) {
        case LaunchMode::kernel:
            return Time{};
        case LaunchMode::graph:
            return costs.gap() * kernels;
        case LaunchMode::stream:
            break;
    }
    const Time further = std::max(costs.gap(), costs.stream - duration);
    return costs.call - costs.kernel + further * std::max(0.0, kernels - 1.0);
}

}  // namespace ridge::model
