// The script that measures PyTorch's kernels, as text inside the program; the build writes the
// definition from scripts/torch-kernels.py.
#pragma once

#include <span>

#include "hardware/embedded.h"

namespace ridge::cli {

/// One file.
[[nodiscard]] std::span<const hardware::EmbeddedFile> framework_harness();

}  // namespace ridge::cli
