#include "programs/host.h"

#include <array>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

using units::us;

// In launches of a small kernel, except for the gaps (W5).
constexpr double launches_of_kernel = 2.04;
constexpr double launches_of_gradient_kernel = 3.01;
constexpr double launches_of_update_kernel = 2.01;
constexpr double launches_of_layer = 21.5;
constexpr double launches_of_step = 71.0;
constexpr double launches_of_training_step = 171.0;
constexpr double launches_of_graph = 3.6;
constexpr double launches_of_graph_kernel = 0.03;

constexpr std::array<Host, 2> measured{
    Host{.name = "xeon-h200", .processor = "Intel Xeon, virtual, with an H200", .launch = 9.6 * us},
    Host{.name = "xeon-h100",
         .processor = "Intel Xeon, virtual, with an H100",
         .launch = 13.8 * us}};

}  // namespace

Time Host::per_kernel() const {
    return launches_of_kernel * launch;
}
Time Host::per_gradient_kernel() const {
    return launches_of_gradient_kernel * launch;
}
Time Host::per_update_kernel() const {
    return launches_of_update_kernel * launch;
}
Time Host::per_layer() const {
    return launches_of_layer * launch;
}
Time Host::per_step() const {
    return launches_of_step * launch;
}
Time Host::per_training_step() const {
    return launches_of_training_step * launch;
}
Time Host::per_graph(std::int64_t kernels) const {
    return (launches_of_graph + launches_of_graph_kernel * static_cast<double>(kernels)) * launch;
}

Time gap_of_stream() {
    return 3.8 * us;
}
Time gap_of_graph() {
    return 0.37 * us;
}

std::span<const Host> hosts() {
    return measured;
}

const Host& find_host(std::string_view name) {
    std::string names;
    for (const Host& host : measured) {
        if (host.name == name) return host;
        names += (names.empty() ? "" : ", ") + std::string(host.name);
    }
    throw InputError("host '" + std::string(name) + "' is not known", {}, "one of " + names);
}

Host at_launch(Host host, Time launch) {
    host.launch = launch;
    return host;
}

const Host& host_beside(std::string_view gpu) {
    return gpu.starts_with("h100") ? measured[1] : measured[0];
}

bool has_measured_host(std::string_view gpu) {
    return gpu.starts_with("h100-sxm") || gpu.starts_with("h200-sxm");
}

}  // namespace ridge::programs
