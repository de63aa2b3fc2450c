#include "programs/host.h"

#include <array>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

using units::us;

constexpr double slower = 1.45;  // of the H100's host against the H200's

// (W5)
constexpr std::array<Host, 2> measured{Host{.name = "xeon-h200",
                                            .processor = "Intel Xeon, virtual, beside an H200",
                                            .per_kernel = 23.5 * us,
                                            .per_training_kernel = 28.8 * us,
                                            .new_length = 37900.0 * us,
                                            .per_graph = 20.0 * us,
                                            .launch = 8.8 * us,
                                            .gap = 3.8 * us},
                                       Host{.name = "xeon-h100",
                                            .processor = "Intel Xeon, virtual, beside an H100",
                                            .per_kernel = slower * 23.5 * us,
                                            .per_training_kernel = slower * 28.8 * us,
                                            .new_length = slower * 37900.0 * us,
                                            .per_graph = slower * 20.0 * us,
                                            .launch = slower * 8.8 * us,
                                            .gap = 3.8 * us}};

}  // namespace

std::span<const Host> hosts() {
    return measured;
}

const Host& find_host(std::string_view name) {
    std::string names;
    for (const Host& host : measured) {
        if (host.name == name) return host;
        names += (names.empty() ? "" : ", ") + std::string(host.name);
    }
    throw InputError("host: '" + std::string(name) + "' is not known", {}, "one of " + names);
}

Host at_launch(Host host, Time launch) {
    const double factor = launch / host.launch;
    host.per_kernel = factor * host.per_kernel;
    host.per_training_kernel = factor * host.per_training_kernel;
    host.new_length = factor * host.new_length;
    host.per_graph = factor * host.per_graph;
    host.launch = launch;
    return host;
}

const Host& host_beside(std::string_view gpu) {
    return gpu.starts_with("h100") ? measured[1] : measured[0];
}

}  // namespace ridge::programs
