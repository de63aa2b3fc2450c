// What a measuring machine says of itself: what it is, and what works on it.
//
//   const Feature* counters = device.info().feature("counters");
//   if (counters != nullptr && !counters->works()) ... counters->missing->remedy ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/quantity.h"
#include "measure/record/observation.h"

namespace ridge::measure {

/// One ability of the machine: there, or why not.
struct Feature {
    std::string name;  ///< "counters", "activity", "nvml", "cublaslt", "nvrtc", "graph"
    std::optional<Unavailable> missing{};  ///< empty: it works
    std::string detail{};                  ///< version or path of what was found

    [[nodiscard]] bool works() const { return !missing.has_value(); }
};

/// What the device is, as its driver reports it.
struct DeviceInfo {
    std::string name;  ///< "NVIDIA H200": the catalogue knows it as an alias
    std::int32_t ordinal = 0;
    std::int32_t compute_capability = 0;  ///< 90 for 9.0
    std::int64_t sm_count = 0;
    Bytes memory;
    Bytes l2;
    std::optional<Frequency> max_sm_clock{};
    std::optional<Frequency> max_memory_clock{};
    std::optional<std::int64_t> memory_bus_bits{};
    bool mig = false;
    bool ecc = false;
    std::string pci_bus{};
    std::string driver{};       ///< "580.159"
    std::string cuda_driver{};  ///< newest CUDA that the driver supports, "13.0"
    std::string cuda_runtime{};
    std::string cupti{};  ///< "" when not found
    std::string nvml{};
    std::vector<Feature> features{};

    /// The feature of this name, or nullptr.
    [[nodiscard]] const Feature* feature(std::string_view name) const;
};

}  // namespace ridge::measure
