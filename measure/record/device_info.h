// What a measuring machine reports about itself: what it is, and which features work.
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

/// One feature of the machine: it works, or the reason why not.
struct Feature {
    std::string name;  ///< "counters", "activity", "nvml", "cublaslt", "nvrtc", "graph"
    std::optional<Unavailable> missing{};  ///< empty if it works
    std::string detail{};                  ///< version or path of the library found

    [[nodiscard]] bool works() const { return !missing.has_value(); }
};

/// What the device is, according to its driver.
struct DeviceInfo {
    std::string name;  ///< "NVIDIA H200", an alias in the catalogue
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
    std::string serial{};       ///< "GPU-3f2a91c0-...": no other GPU has it
    std::string host{};         ///< name of the computer
    std::string driver{};       ///< "580.159"
    std::string cuda_driver{};  ///< newest CUDA version that the driver supports, "13.0"
    std::string cuda_runtime{};
    std::string cupti{};  ///< "" when not found
    std::string nvml{};
    std::vector<Feature> features{};

    /// The feature of this name, or nullptr.
    [[nodiscard]] const Feature* feature(std::string_view name) const;
};

}  // namespace ridge::measure
