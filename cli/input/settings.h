// What the user has settled once: the GPU that is meant where none is named, and the format of answers.
//
//   $ export RIDGE_GPU=h100                       # for this shell
//   $ cat ~/.config/ridge/config.toml             # or for good
//   gpu = "h100"
//   format = "json"                               # table, json, csv or md
//
// The variable takes precedence over the file, which lies in $XDG_CONFIG_HOME/ridge or
// ~/.config/ridge, and an option over both. The format is for answers that would be tables: charts
// stay charts. A file that cannot be understood is an error.
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

/// The format that the configuration names, a word of --format. InputError as above.
[[nodiscard]] std::optional<std::string> default_format();

/// What a configuration says.
struct Settings {
    std::optional<DefaultGpu> gpu{};
    std::optional<std::string> format{};
};

/// `file` is for messages.
[[nodiscard]] Settings settings_of(std::string_view toml, const std::string& file);

}  // namespace ridge::cli
