// What the driver and NVML say about a device.
//
//   if (auto missing = missing_device(0)) return *missing;
//   DeviceInfo info = describe_device(0);
//   add_management(*management, info);
//
// Errors: DeviceError when a call of the CUDA runtime fails.
#pragma once

#include <cstdint>
#include <optional>

#include "measure/cuda/libraries/nvml.h"
#include "measure/record/device_info.h"

namespace ridge::measure::cuda {

/// Why there is no device of this number; empty if there is one.
[[nodiscard]] std::optional<Unavailable> missing_device(std::int32_t ordinal);

/// Without features and what NVML says.
[[nodiscard]] DeviceInfo describe_device(int ordinal);

void add_management(const Management& management, DeviceInfo& info);

}  // namespace ridge::measure::cuda
