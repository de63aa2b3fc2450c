// What the user has settled once: the GPU that is meant where none is named.
//
//   $ export RIDGE_GPU=h100                       # for this shell
//   $ cat ~/.config/ridge/config.toml             # or for good
//   gpu = "h100"
//
// The variable goes before the file, which lies in $XDG_CONFIG_HOME/ridge or ~/.config/ridge. A file
// that cannot be understood is an error: it says nothing else than what its user wants.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware/error.h"

namespace ridge::cli {

/// A GPU by name, and where the name was found.
struct DefaultGpu {
    std::string name;
    std::string origin;   ///< "RIDGE_GPU", or the file as a reader knows it
    Location location{};  ///< in the file
};

/// What RIDGE_GPU or the configuration says. InputError names the file, the line and the key.
[[nodiscard]] std::optional<DefaultGpu> default_gpu();

/// What the text of a configuration says; `file` is for messages.
[[nodiscard]] std::optional<DefaultGpu> gpu_of_configuration(std::string_view toml,
                                                             const std::string& file);

}  // namespace ridge::cli
