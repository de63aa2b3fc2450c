// Configs of well-known models that come with ridge, each with the source of its numbers.
//
//   const Architecture a = find_model("llama-3.1-8b");       // a preset
//   const Architecture b = find_model("./my-model");         // a folder with config.json
//   const Architecture c = find_model("config.json");        // or the file, or a small .toml
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/embedded.h"
#include "programs/configs/architecture.h"

namespace ridge::programs {

/// The preset files, sorted by path; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_presets();

[[nodiscard]] std::vector<std::string> preset_names();

/// Up to `count` presets that a name may mean: those that have all of its parts, the newest first ("llama-70b":
/// llama-3.3-70b), then those that are written alike.
[[nodiscard]] std::vector<std::string> presets_near(const std::string& name, std::size_t count);

/// Whether `find_model` would find it: a folder or file, or the name of a preset.
[[nodiscard]] bool is_model(const std::string& name);

/// Accepts a folder, a file, or the name of a preset (in any case, also as "organisation/Name"). Throws
/// InputError with near names for anything else. `family` replaces the one that the config names.
[[nodiscard]] Architecture find_model(const std::string& name,
                                      std::shared_ptr<const Family> family = nullptr);

}  // namespace ridge::programs
