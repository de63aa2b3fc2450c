#include "hardware/catalogue.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "hardware/consistency.h"
#include "hardware/embedded.h"
#include "hardware/field_reader.h"
#include "hardware/loader.h"
#include "hardware/nearest.h"

namespace ridge::hardware {
namespace {

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

void append(std::vector<Problem>& to, const std::vector<Problem>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Catalogue::Catalogue(Schema schema, const Form& form) : schema_(std::move(schema)), form_(form) {}

Catalogue Catalogue::embedded(const Schema& schema, const Form& form) {
    Catalogue catalogue(schema, form);
    for (const EmbeddedFile& file : embedded_files()) {
        catalogue.add_item(SharedText::in_program(file.text), std::string(file.path),
                           std::string(built_in));
    }
    return catalogue;
}

std::string Catalogue::add_file(const std::string& path) {
    return add_text(read_text_file(path), path);
}

std::string Catalogue::add_text(const std::string& toml, const std::string& origin) {
    const Loaded header = load_header(toml, origin, form_);
    throw_problems(header.problems);
    add_item(SharedText::copy_of(toml), origin, origin);
    cache_->loaded.clear();
    return header.description.kind == DescriptionKind::overlay ? header.description.overlay
                                                               : header.description.name;
}

void Catalogue::add_item(SharedText text, const std::string& file, const std::string& origin) {
    Loaded loaded = load_header(text.view(), file, form_);
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

const Catalogue::Item* Catalogue::item(std::string_view name) const {
    const auto device = devices_.find(name);
    if (device != devices_.end()) return &device->second;
    const auto architecture = architectures_.find(name);
    return architecture == architectures_.end() ? nullptr : &architecture->second;
}

const Description* Catalogue::header(std::string_view name) const {
    const Item* const found = item(name);
    return found == nullptr ? nullptr : &found->header;
}

Loaded Catalogue::user_fields(const std::string& name, std::span<const std::string> only) const {
    const Item* const found = item(name);
    if (found == nullptr || found->header.origin == built_in) return {};
    return load_fields(found->text, found->header.location.file, schema_, only, form_);
}

Description Catalogue::loaded(const Item& item, std::vector<Problem>& problems) const {
    Loaded read = load_text(item.text, item.header.location.file, schema_, form_);
    append(problems, read.problems);
    return std::move(read.description);
}

/// Adds the architecture that the device names, and what that inherits in turn.
void Catalogue::add_architectures(Layers& layers) const {
    constexpr int most = 8;
    std::string wanted = layers.device.inherits;
    Location location = layers.device.location;
    for (int depth = 0; !wanted.empty(); ++depth) {
        const auto parent = architectures_.find(wanted);
        if (parent == architectures_.end() || depth == most) {
            if (std::find(form_.roots.begin(), form_.roots.end(), wanted) != form_.roots.end()) {
                return;
            }
            const std::string reason = depth == most ? "\", which inherits from too many others"
                                                     : "\", which is not a known architecture";
            layers.problems.push_back(
                {location, std::string("inherits from \"").append(wanted).append(reason)});
            return;
        }
        Description architecture = loaded(parent->second, layers.problems);
        location = architecture.location;
        wanted = architecture.inherits;
        layers.architectures.push_back(std::move(architecture));
    }
}

Layers Catalogue::layers(std::string_view name, Overlays overlays) const {
    const std::string canonical = canonical_name(name);
    if (canonical.empty()) {
        throw InputError("unknown GPU \"" + std::string(name.substr(0, 80)) + "\"", {},
                         suggestion(name));
    }
    const Item& item = devices_.find(canonical)->second;
    Layers layers;
    layers.device = loaded(item, layers.problems);
    std::string& origin = layers.device.origin;
    origin = item.header.origin;
    if (item.replaced == built_in) {
        origin += ", in place of the built-in " + canonical;
    } else if (!item.replaced.empty()) {
        origin += ", in place of " + canonical + " of " + item.replaced;
    }
    add_architectures(layers);
    for (const Item& overlay : overlays_) {
        if (overlays == Overlays::left_out || canonical_name(overlay.header.overlay) != canonical)
            continue;
        layers.overlays.push_back(loaded(overlay, layers.problems));
        origin += ", with " + (overlay.header.origin == built_in
                                   ? "the built-in overlay " + overlay.header.name
                                   : overlay.header.origin);
    }
    return layers;
}

std::pair<Description, std::vector<Problem>> Catalogue::inspect(std::string_view name,
                                                                Overlays overlays) const {
    Layers parts = layers(name, overlays);
    Description device = std::move(parts.device);
    for (Description& each : parts.architectures) {
        device = inherit(std::move(device), std::move(each));
    }
    for (Description& each : parts.overlays) {
        device = apply_overlay(std::move(device), std::move(each));
    }
    append(parts.problems, missing_fields(device));
    append(parts.problems, check_consistency(device));
    return {std::move(device), std::move(parts.problems)};
}

const Description& Catalogue::at(std::string_view name, Overlays overlays) const {
    std::pair<std::string, Overlays> key{canonical_name(name), overlays};
    const std::lock_guard lock(cache_->mutex);
    const auto found = cache_->loaded.find(key);
    if (found != cache_->loaded.end()) return found->second;
    auto [device, problems] = inspect(name, overlays);
    throw_problems(problems);
    return cache_->loaded.emplace(std::move(key), std::move(device)).first->second;
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
    return catalogue.inspect(name, Overlays::applied).second;
}

}  // namespace ridge::hardware
