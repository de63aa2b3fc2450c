// The description files that are compiled into the binary. The build generates the definition.
#pragma once

#include <span>
#include <string_view>

namespace ridge::hardware {

struct EmbeddedFile {
    std::string_view path;  ///< "hardware/gpus/h100-sxm.toml"
    std::string_view text;
};

/// All embedded files, sorted by path.
[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

}  // namespace ridge::hardware
