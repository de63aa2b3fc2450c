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

/// The value of a node; InputError if it is not text.
std::string text_of(const hardware::Node& node, const std::string& expected) {
    if (node.kind != hardware::NodeKind::text || node.text.empty()) {
        throw InputError(std::string(node.key) + ": must be " + expected, node.location());
    }
    return std::string(node.text);
}

std::string format_of(const hardware::Node& node) {
    const std::string expected = R"("table", "json", "csv" or "md")";
    std::string word = text_of(node, expected);
    for (const char* const known : {"table", "json", "csv", "md"}) {
        if (word == known) return word;
    }
    throw InputError("format: must be " + expected, node.location());
}

Settings configuration() {
    const std::string path = configuration_path();
    std::error_code error;
    if (path.empty() || !std::filesystem::exists(path, error)) return {};
    return settings_of(hardware::read_text_file(path), path);
}

}  // namespace

Settings settings_of(std::string_view toml, const std::string& file) {
    const hardware::Document document = hardware::parse_document(toml, file);
    if (document.problem) throw InputError(document.problem->message, document.problem->location);
    Settings settings;
    for (const hardware::Node& node : document.root.children) {
        if (node.key == "gpu") {
            settings.gpu = {.name = text_of(node, "the name of a GPU in quotes"),
                            .origin = file,
                            .location = node.location()};
        } else if (node.key == "format") {
            settings.format = format_of(node);
        } else {
            throw InputError("unknown key \"" + std::string(node.key) + "\"", node.key_location(),
                             "the keys are gpu and format, as in gpu = \"h100\"");
        }
    }
    return settings;
}

std::optional<DefaultGpu> default_gpu() {
    if (std::string name = variable("RIDGE_GPU"); !name.empty()) {
        return DefaultGpu{.name = std::move(name), .origin = "RIDGE_GPU"};
    }
    return configuration().gpu;
}

std::optional<std::string> default_format() {
    return configuration().format;
}

}  // namespace ridge::cli
