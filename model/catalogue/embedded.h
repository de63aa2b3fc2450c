// The files of software/ and calibration/ in the binary. The build generates the definitions.
#pragma once

#include <span>

#include "hardware/embedded.h"

namespace ridge::model {

/// "software/pytorch-2.11/software.toml" and so on, sorted by path.
[[nodiscard]] std::span<const hardware::EmbeddedFile> software_files();

/// "calibration/h200-sxm/pytorch-2.11.toml", ".trees" and so on, sorted by path.
[[nodiscard]] std::span<const hardware::EmbeddedFile> calibration_files();

}  // namespace ridge::model
