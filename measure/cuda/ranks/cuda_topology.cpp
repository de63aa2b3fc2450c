// The topology of the machine's GPUs, from the CUDA runtime, NVML and the kernel's own files.
#include <cuda_runtime.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>

#include "measure/cuda/libraries/device_description.h"
#include "measure/cuda/libraries/nvml.h"
#include "measure/ranks/rank.h"
#include "measure/ranks/topology.h"

namespace ridge::measure {
namespace {

std::optional<std::int32_t> numa_node_of(std::string bus) {
    std::transform(bus.begin(), bus.end(), bus.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::ifstream file("/sys/bus/pci/devices/" + bus + "/numa_node");
    std::int32_t node = -1;
    if (!(file >> node) || node < 0) return std::nullopt;
    return node;
}

GpuPlace place_of(std::int32_t ordinal, std::int32_t count) {
    const DeviceInfo info = cuda::describe_device(ordinal);
    GpuPlace place{.ordinal = ordinal,
                   .name = info.name,
                   .pci_bus = info.pci_bus,
                   .numa_node = numa_node_of(info.pci_bus)};
    const auto management = cuda::Management::open(info.pci_bus);
    if (const auto* opened = std::get_if<std::unique_ptr<cuda::Management>>(&management)) {
        place.links = (*opened)->links();
    }
    for (std::int32_t other = 0; other < count; ++other) {
        int reaches = 0;
        if (other != ordinal && cudaDeviceCanAccessPeer(&reaches, ordinal, other) == cudaSuccess &&
            reaches != 0) {
            place.reaches.push_back(other);
        }
    }
    return place;
}

}  // namespace

std::vector<GpuPlace> topology() {
    const std::int32_t count = device_count();
    std::vector<GpuPlace> places;
    for (std::int32_t ordinal = 0; ordinal < count; ++ordinal) {
        places.push_back(place_of(ordinal, count));
    }
    return places;
}

}  // namespace ridge::measure
