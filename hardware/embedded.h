// The description files that are compiled into the binary; the build writes the definition.
#pragma once

#include <span>
#include <string_view>

namespace ridge::hardware {

struct EmbeddedFile {
    std::string_view path;  ///< "hardware/gpus/h100-sxm.toml"
    std::string_view text;
};

/// All of them, sorted by path.
[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

}  // namespace ridge::hardware
