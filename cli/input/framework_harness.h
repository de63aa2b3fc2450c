// The scripts that measure PyTorch's kernels, as text inside the program. The build makes the
// definition from scripts/measure/torch-kernels.py and its plan (torch_plan.py, torch_streams.py).
#pragma once

#include <span>

#include "hardware/embedded.h"

namespace ridge::cli {

/// torch-kernels.py is the one to run; it finds the others beside it.
[[nodiscard]] std::span<const hardware::EmbeddedFile> framework_harness();

}  // namespace ridge::cli
