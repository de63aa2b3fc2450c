// The lanes of each pipe, by architecture: pipes.toml, embedded by the build.
#pragma once

#include <span>

#include "hardware/embedded.h"

namespace ridge::kernel {

[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_pipes();

}  // namespace ridge::kernel
