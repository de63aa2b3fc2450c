#include "hardware/catalogue.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "hardware/consistency.h"
#include "hardware/embedded.h"
#include "hardware/field_reader.h"
#include "hardware/loader.h"
#include "hardware/nearest.h"

namespace ridge::hardware {
namespace {

/// The origin of the files in the program.
constexpr const char* built_in = "built in";

/// The name in lower case, without vendor names; any run of characters other than letters and
/// digits becomes one "-".
std::string folded(std::string_view name) {
    std::string result;
    for (const char letter : name) {
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
            result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        } else if (!result.empty() && result.back() != '-') {
            result += '-';
        }
    }
    if (!result.empty() && result.back() == '-') result.pop_back();
    constexpr std::array<std::string_view, 7> makers{"nvidia-",   "tesla-",  "geforce-", "amd-",
                                                     "instinct-", "google-", "graphics-"};
    for (bool stripped = true; stripped;) {
        stripped = false;
        for (const std::string_view maker : makers) {
            if (!result.starts_with(maker)) continue;
            result.erase(0, maker.size());
            stripped = true;
        }
    }
    return result;
}

bool is_correction(const std::string& path) {
    return lies_in(path, correction_section);
}

void drop_corrections(Description& device) {
    std::erase_if(device.data, [](const auto& field) { return is_correction(field.first); });
}

void append(std::vector<Problem>& to, const std::vector<Problem>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Catalogue::Catalogue(Schema schema) : schema_(std::move(schema)) {}

Catalogue Catalogue::embedded(const Schema& schema) {
    Catalogue catalogue(schema);
    for (const EmbeddedFile& file : embedded_files()) {
        catalogue.add_item(SharedText::in_program(file.text), std::string(file.path), built_in);
    }
    return catalogue;
}

Catalogue Catalogue::with_user_files(const Schema& schema, std::string_view without) {
    Catalogue catalogue = embedded(schema);
    const std::string folder = user_folder();
    std::error_code error;
    if (folder.empty() || !std::filesystem::is_directory(folder, error)) return catalogue;
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const bool counts = entry.path().extension() == ".toml" && entry.path() != without;
        if (counts) files.insert(entry.path().string());
    }
    if (error) throw InputError("cannot list \"" + folder + "\": " + error.message());
    for (const std::string& file : files) {
        try {
            catalogue.add_file(file);
        } catch (const InputError& broken) {
            catalogue.left_out_.emplace_back(broken.what());
        }
    }
    return catalogue;
}

std::string Catalogue::add_file(const std::string& path) {
    return add_text(read_text_file(path), path);
}

std::string Catalogue::add_text(const std::string& toml, const std::string& origin) {
    const Loaded header = load_header(toml, origin);
    throw_problems(header.problems);
    add_item(SharedText::copy_of(toml), origin, origin);
    cache_->loaded.clear();
    return header.description.kind == DescriptionKind::overlay ? header.description.overlay
                                                               : header.description.name;
}

void Catalogue::add_item(SharedText text, const std::string& file, const std::string& origin) {
    Loaded loaded = load_header(text.view(), file);
    throw_problems(loaded.problems);
    Item item{.header = std::move(loaded.description), .text = std::move(text), .replaced = {}};
    item.header.location.file = file;
    item.header.origin = origin;
    if (item.header.kind == DescriptionKind::overlay) {
        overlays_.push_back(std::move(item));
        return;
    }
    const std::string name = item.header.name;
    if (item.header.kind == DescriptionKind::architecture) {
        architectures_.insert_or_assign(name, std::move(item));
        return;
    }
    const auto present = devices_.find(name);
    if (present != devices_.end()) item.replaced = present->second.header.origin;
    names_.insert_or_assign(folded(name), name);
    for (const std::string& alias : item.header.aliases) {
        names_.insert_or_assign(folded(alias), name);
    }
    devices_.insert_or_assign(name, std::move(item));
}

std::vector<CatalogueEntry> Catalogue::entries() const {
    std::vector<CatalogueEntry> result;
    result.reserve(devices_.size());
    for (const auto& [name, item] : devices_) {
        result.push_back({.name = name,
                          .title = item.header.title,
                          .vendor = item.header.vendor,
                          .aliases = item.header.aliases,
                          .origin = item.header.origin});
    }
    return result;
}

std::vector<OverlayEntry> Catalogue::overlays() const {
    std::vector<OverlayEntry> result;
    result.reserve(overlays_.size());
    for (const Item& item : overlays_) {
        result.push_back({.origin = item.header.origin, .target = item.header.overlay});
    }
    return result;
}

std::string Catalogue::canonical_name(std::string_view name) const {
    std::string wanted = folded(name);
    if (devices_.contains(wanted)) return wanted;
    const auto found = names_.find(wanted);
    return found == names_.end() ? std::string() : found->second;
}

std::string Catalogue::suggestion(std::string_view name) const {
    std::vector<std::string> known;
    known.reserve(devices_.size());
    for (const auto& [device, item] : devices_) known.push_back(device);
    std::vector<std::string> found = near(folded(name), known, 6);
    if (found.empty()) {
        std::vector<std::string> aliases;
        for (const auto& [alias, device] : names_) aliases.push_back(alias);
        found = near(folded(name), aliases, 2);
    }
    std::string text;
    for (const std::string& each : found) {
        text += (text.empty() ? "did you mean " : ", ") + each;
    }
    return text.empty() ? "`ridge gpus` lists the known GPUs" : text + "?";
}

/// Adds what the architecture holds, and what that inherits in turn: the kernels of a framework.
void Catalogue::take_inheritance(Description& device, std::vector<Problem>& problems) const {
    constexpr int most = 8;
    std::string wanted = device.inherits;
    std::vector<std::string> architectures;
    Location location = device.location;
    for (int depth = 0; !wanted.empty(); ++depth) {
        const auto parent = architectures_.find(wanted);
        if (parent == architectures_.end() || depth == most) {
            const std::string reason = depth == most ? "\", which inherits from too many others"
                                                     : "\", which is not a known architecture";
            problems.push_back(
                {location, std::string("inherits from \"").append(wanted).append(reason)});
            return;
        }
        Loaded loaded =
            load_text(parent->second.text, parent->second.header.location.file, schema_);
        append(problems, loaded.problems);
        architectures.push_back(std::exchange(wanted, loaded.description.inherits));
        location = loaded.description.location;
        const std::vector<CarriedOver> carried = std::move(loaded.description.carried_over);
        device = inherit(std::move(device), std::move(loaded.description));
        for (const CarriedOver& each : carried) take_carried(device, each, architectures, problems);
    }
}

/// Adds parameters from the file of another device or architecture.
void Catalogue::take_carried(Description& device, const CarriedOver& carried,
                             std::span<const std::string> architectures,
                             std::vector<Problem>& problems) const {
    if (carried.from == device.name) return;
    const auto relative = devices_.find(carried.from);
    const auto family = architectures_.find(carried.from);
    if (relative == devices_.end() && family == architectures_.end()) {
        problems.push_back(
            {carried.location, "carries parameters over from \"" + carried.from +
                                   "\", which is not a known device or architecture"});
        return;
    }
    const Item& item = relative != devices_.end() ? relative->second : family->second;
    Loaded loaded = load_fields(item.text, item.header.location.file, schema_, carried.paths);
    append(problems, loaded.problems);
    device = carry_over(std::move(device), std::move(loaded.description), architectures);
}

/// Adds the corrections of the related device that `device` names, unless it has its own.
/// Corrections that a user fitted to that device are not taken: they need parameters that `device`
/// does not have.
void Catalogue::take_corrections(Description& device, std::vector<Problem>& problems) const {
    if (device.corrections.empty()) return;
    const std::string relative = canonical_name(device.corrections);
    if (relative.empty() || relative == device.name) {
        problems.push_back({device.location, "uses the corrections of \"" + device.corrections +
                                                 "\", which is not another known device"});
        return;
    }
    for (const Item& overlay : overlays_) {
        if (overlay.header.origin != built_in || overlay.header.overlay != relative) continue;
        Loaded loaded = load_text(overlay.text, overlay.header.location.file, schema_);
        append(problems, loaded.problems);
        const std::size_t removed = std::erase_if(
            loaded.description.data, [](const auto& field) { return !is_correction(field.first); });
        if (removed > 0 && loaded.description.data.empty()) continue;
        device = inherit(std::move(device), std::move(loaded.description));
        device.origin += ", with the corrections of " + overlay.header.name;
    }
}

std::pair<Description, std::vector<Problem>> Catalogue::inspect(std::string_view name,
                                                                View view) const {
    const std::string canonical = canonical_name(name);
    if (canonical.empty()) {
        throw InputError("unknown GPU \"" + std::string(name.substr(0, 80)) + "\"", {},
                         suggestion(name));
    }
    const Item& item = devices_.find(canonical)->second;
    auto [device, problems] = load_text(item.text, item.header.location.file, schema_);
    device.origin = item.header.origin;
    if (item.replaced == built_in) {
        device.origin += ", in place of the built-in " + canonical;
    } else if (!item.replaced.empty()) {
        device.origin += ", in place of " + canonical + " of " + item.replaced;
    }
    take_inheritance(device, problems);
    for (const Item& overlay : overlays_) {
        if (view == View::datasheet || canonical_name(overlay.header.overlay) != canonical)
            continue;
        Loaded loaded = load_text(overlay.text, overlay.header.location.file, schema_);
        append(problems, loaded.problems);
        device = apply_overlay(std::move(device), std::move(loaded.description));
        device.origin += ", with " + (overlay.header.origin == built_in
                                          ? "the built-in overlay " + overlay.header.name
                                          : overlay.header.origin);
    }
    if (view == View::calibrated) take_corrections(device, problems);
    if (view != View::calibrated) drop_corrections(device);
    append(problems, missing_fields(device));
    append(problems, check_consistency(device));
    return {std::move(device), std::move(problems)};
}

const Description& Catalogue::at(std::string_view name, View view) const {
    std::pair<std::string, View> key{canonical_name(name), view};
    const std::lock_guard lock(cache_->mutex);
    const auto found = cache_->loaded.find(key);
    if (found != cache_->loaded.end()) return found->second;
    auto [device, problems] = inspect(name, view);
    throw_problems(problems);
    return cache_->loaded.emplace(std::move(key), std::move(device)).first->second;
}

std::string user_folder() {
    const char* config = std::getenv("XDG_CONFIG_HOME");  // NOLINT(concurrency-mt-unsafe)
    if (config != nullptr && *config != '\0') return std::string(config) + "/ridge/gpus";
    const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
    if (home == nullptr || *home == '\0') return {};
    return std::string(home) + "/.config/ridge/gpus";
}

std::vector<Problem> check_file(const std::string& path, const Schema& schema) {
    const std::string text = read_text_file(path);
    Loaded loaded = load_text(text, path, schema);
    if (!loaded.problems.empty()) return loaded.problems;
    const DescriptionKind kind = loaded.description.kind;
    if (kind == DescriptionKind::architecture) return check_consistency(loaded.description);
    Catalogue catalogue = Catalogue::embedded(schema);
    const std::string name = catalogue.add_text(text, path);
    if (catalogue.canonical_name(name).empty()) {
        return {
            {loaded.description.location, "overlays \"" + name + "\", which is not a known GPU"}};
    }
    return catalogue.inspect(name, View::calibrated).second;
}

}  // namespace ridge::hardware
