// What the kernels of PyTorch's operators and its host code cost, as data: software/pytorch-2.11/costs.toml.
//
//   cost("convolution.forward.efficiency")   // 0.8
//   time_cost("least.mean")                  // 2.1 us
//
// Method. The file has tables of numbers, and of times with their unit; `cost` finds one by its path.
// It is read when the first is asked for. A path that the file does not have is a bug of the caller.
//
// Limits: the values hold for one version of PyTorch, and for every GPU.
#pragma once

#include <span>
#include <string_view>

#include "hardware/embedded.h"
#include "hardware/quantity.h"

namespace ridge::programs {

/// A number, or a time in seconds.
[[nodiscard]] double cost(std::string_view path);
[[nodiscard]] Time time_cost(std::string_view path);

/// The file in the binary. The build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_costs();

}  // namespace ridge::programs
