#include "cli/input/settings.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "hardware/document.h"

namespace ridge::cli {
namespace {

/// The variable's value; empty when it is not set.
std::string variable(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::string() : std::string(value);
}

std::string configuration_path() {
    const std::string folder = variable("XDG_CONFIG_HOME");
    if (!folder.empty()) return folder + "/ridge/config.toml";
    const std::string home = variable("HOME");
    return home.empty() ? home : home + "/.config/ridge/config.toml";
}

}  // namespace

std::optional<DefaultGpu> gpu_of_configuration(std::string_view toml, const std::string& file) {
    const hardware::Document document = hardware::parse_document(toml, file);
    if (document.problem) throw InputError(document.problem->message, document.problem->location);
    std::optional<DefaultGpu> gpu;
    for (const hardware::Node& node : document.root.children) {
        if (node.key != "gpu") {
            throw InputError("unknown key \"" + node.key + "\"", node.key_location,
                             "the one key is gpu, as in gpu = \"h100\"");
        }
        if (node.kind != hardware::NodeKind::text || node.text.empty()) {
            throw InputError("gpu: must be the name of a GPU in quotes", node.location);
        }
        gpu = {.name = node.text, .origin = file, .location = node.location};
    }
    return gpu;
}

std::optional<DefaultGpu> default_gpu() {
    if (std::string name = variable("RIDGE_GPU"); !name.empty()) {
        return DefaultGpu{.name = std::move(name), .origin = "RIDGE_GPU"};
    }
    const std::string path = configuration_path();
    std::error_code error;
    if (path.empty() || !std::filesystem::exists(path, error)) return std::nullopt;
    return gpu_of_configuration(hardware::read_text_file(path), path);
}

}  // namespace ridge::cli
