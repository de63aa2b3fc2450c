// The user's settings: the default GPU and the default format of answers.
//
//   $ export RIDGE_GPU=h100                       # for this shell
//   $ cat ~/.config/ridge/config.toml             # or for good
//   gpu = "h100"
//   format = "json"                               # table, json, csv or md
//
// The variable takes precedence over the file, and an option over both. The file is in
// $XDG_CONFIG_HOME/ridge or ~/.config/ridge. The format applies to answers that would be tables,
// not to charts. A file that cannot be understood is an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware/error.h"

namespace ridge::cli {

/// A GPU by name, and where the name was found.
struct DefaultGpu {
    std::string name;
    std::string origin;   ///< "RIDGE_GPU", or the file's name
    Location location{};  ///< in the file
};

/// The GPU that RIDGE_GPU or the configuration names. InputError names file, line and key.
[[nodiscard]] std::optional<DefaultGpu> default_gpu();

/// The format that the configuration names, a word of --format. InputError as above.
[[nodiscard]] std::optional<std::string> default_format();

/// The contents of a configuration.
struct Settings {
    std::optional<DefaultGpu> gpu{};
    std::optional<std::string> format{};
};

/// Parses a configuration; `file` is its name in messages.
[[nodiscard]] Settings settings_of(std::string_view toml, const std::string& file);

}  // namespace ridge::cli
