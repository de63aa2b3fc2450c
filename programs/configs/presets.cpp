#include "programs/configs/presets.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "programs/configs/config_reader.h"

namespace ridge::programs {
namespace {

std::string stem_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (name.ends_with(".json")) name.remove_suffix(5);
    return std::string(name);
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](char c) {
        return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    return result;
}

/// Hub names add what a preset leaves out: "Meta-Llama-3.1-8B-Instruct" is "llama-3.1-8b".
bool same_name(const std::string& preset, std::string wanted) {
    for (const std::string_view begin : {"meta-"}) {
        if (wanted.starts_with(begin)) wanted.erase(0, begin.size());
    }
    for (const std::string_view end : {"-it", "-instruct", "-base", "-hf", "-chat", "-bf16"}) {
        if (wanted.ends_with(end)) wanted.erase(wanted.size() - end.size());
    }
    return preset == wanted;
}

Architecture read_file(const std::string& path, std::shared_ptr<const Family> family) {
    const std::string text = hardware::read_text_file(path);
    std::string quantisation;
    constexpr std::string_view config = "config.json";
    std::error_code ignored;
    if (path.ends_with(config)) {
        const std::string beside =
            path.substr(0, path.size() - config.size()) + "hf_quant_config.json";
        if (std::filesystem::exists(beside, ignored)) {
            quantisation = hardware::read_text_file(beside);
        }
    }
    Architecture a = path.ends_with(".toml")
                         ? read_model_toml(text, path, std::move(family))
                         : read_config(text, path, std::move(family), quantisation);
    if (a.name.empty()) {
        const std::filesystem::path file(path);
        a.name = file.stem() == "config" && file.has_parent_path()
                     ? file.parent_path().filename().string()
                     : file.stem().string();
    }
    return a;
}

/// The name without its organisation: "meta-llama/Llama-3.1-8B" is llama-3.1-8b.
std::string own_name(const std::string& name) {
    return lower(name.substr(name.rfind('/') + 1));
}

/// The preset of this name, or of a name of the Hugging Face hub, "organisation/Name".
const hardware::EmbeddedFile* find_preset(const std::string& name) {
    const std::string wanted = own_name(name);
    for (const hardware::EmbeddedFile& file : embedded_presets()) {
        if (stem_of(file.path) == wanted || same_name(stem_of(file.path), wanted)) return &file;
    }
    return nullptr;
}

/// "llama-70b": llama and 70b.
std::vector<std::string> parts_of(const std::string& name) {
    std::vector<std::string> parts;
    std::istringstream stream(name);
    for (std::string part; std::getline(stream, part, '-');) parts.push_back(part);
    return parts;
}

}  // namespace

std::vector<std::string> presets_near(const std::string& name, std::size_t count) {
    const std::string wanted = own_name(name);
    const std::vector<std::string> parts = parts_of(wanted);
    const std::vector<std::string> names = preset_names();
    std::vector<std::string> found;
    for (const std::string& each : names) {
        const std::vector<std::string> all = parts_of(each);
        const bool has_all = std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
            return std::find(all.begin(), all.end(), part) != all.end();
        });
        if (parts.size() > 1 && has_all) found.push_back(each);
    }
    std::sort(found.rbegin(), found.rend());
    for (const std::string& each : near(wanted, names, count)) {
        if (std::find(found.begin(), found.end(), each) == found.end()) found.push_back(each);
    }
    if (found.size() > count) found.resize(count);
    return found;
}

bool is_model(const std::string& name) {
    std::error_code ignored;
    return !name.empty() &&
           (std::filesystem::exists(name, ignored) || find_preset(name) != nullptr);
}

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const hardware::EmbeddedFile& file : embedded_presets()) {
        names.push_back(stem_of(file.path));
    }
    return names;
}

Architecture find_model(const std::string& name, std::shared_ptr<const Family> family) {
    std::error_code ignored;
    if (std::filesystem::is_directory(name, ignored)) {
        return read_file((std::filesystem::path(name) / "config.json").string(), std::move(family));
    }
    if (std::filesystem::exists(name, ignored)) return read_file(name, std::move(family));
    if (const hardware::EmbeddedFile* preset = find_preset(name)) {
        return read_config(preset->text, "preset " + stem_of(preset->path), std::move(family));
    }
    const std::vector<std::string> close = presets_near(name, 4);
    std::string hint;
    for (const std::string& candidate : close) hint += (hint.empty() ? "" : ", ") + candidate;
    throw InputError(
        "model: '" + name + "' is neither a file, nor a folder, nor a preset", {},
        hint.empty() ? "ridge model --list lists the presets" : "closest presets: " + hint);
}

}  // namespace ridge::programs
