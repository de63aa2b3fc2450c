// The scripts that measure PyTorch's kernels, as text inside the program; the build writes the
// definition from scripts/torch-kernels.py and the plan of its cases, scripts/torch_plan.py and torch_streams.py.
#pragma once

#include <span>

#include "hardware/embedded.h"

namespace ridge::cli {

/// torch-kernels.py, which is run, finds the others beside it.
[[nodiscard]] std::span<const hardware::EmbeddedFile> framework_harness();

}  // namespace ridge::cli
