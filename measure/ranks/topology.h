// How the GPUs of this machine are linked, as the driver says.
//
//   for (const GpuPlace& gpu : topology()) ... gpu.links ... gpu.reaches ...
//
// Limits: NVLinks are counted when they are up; what is at their other end is known as a switch or
// another GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridge::measure {

struct NvLinks {
    std::int32_t active = 0;
    std::int32_t version = 0;  ///< 4 on Hopper
    bool to_switch = false;

    friend bool operator==(const NvLinks&, const NvLinks&) = default;
};

struct GpuPlace {
    std::int32_t ordinal = 0;
    std::string name{};
    std::string pci_bus{};
    std::optional<NvLinks> links{};           ///< empty when NVML does not say
    std::optional<std::int32_t> numa_node{};  ///< of the host's memory next to it
    std::vector<std::int32_t> reaches{};      ///< GPUs whose memory it can read
};

/// All GPUs that this process sees; none without a driver and in a build without CUDA.
[[nodiscard]] std::vector<GpuPlace> topology();

/// "18 NVLinks (version 4) to a switch; reaches GPU 1; NUMA node 0".
[[nodiscard]] std::string links_text(const GpuPlace& gpu);

}  // namespace ridge::measure
