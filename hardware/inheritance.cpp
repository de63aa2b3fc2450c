// Combines descriptions: what a device inherits from its family and from overlays (`loader.h`).
// Fields and sources are moved, not copied.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/loader.h"

namespace ridge::hardware {
namespace {

/// Moves the sources of `from` to `to`. A key that already means something else there gets the
/// owner's name appended. Returns the new name of each such key.
std::map<std::string, std::string> merge_sources(Description& to, Description& from) {
    std::map<std::string, std::string> names;
    for (const auto& [key, source] : from.sources) {
        const auto present = to.sources.find(key);
        const bool clashes =
            present != to.sources.end() && (present->second.text != source.text ||
                                            present->second.provenance != source.provenance);
        if (!clashes) continue;
        const std::string name = key + " (" + from.name + ")";
        Source renamed = source;
        renamed.key = name;
        to.sources.insert_or_assign(name, std::move(renamed));
        names.emplace(key, name);
    }
    to.sources.merge(from.sources);
    return names;
}

void rename_sources(Datum& datum, const std::map<std::string, std::string>& names) {
    if (names.empty()) return;
    const auto rename = [&](std::vector<std::string>& keys) {
        for (std::string& key : keys) {
            const auto found = names.find(key);
            if (found != names.end()) key = found->second;
        }
    };
    rename(datum.sources);
    for (Dispute& dispute : datum.disputes) rename(dispute.sources);
}

}  // namespace

Description inherit(Description device, Description parent) {
    const auto names = merge_sources(device, parent);
    for (auto& [path, datum] : parent.data) {
        rename_sources(datum, names);
        datum.inherited = true;
    }
    device.data.merge(parent.data);
    device.tolerances.insert(device.tolerances.end(), parent.tolerances.begin(),
                             parent.tolerances.end());
    return device;
}

Description complete(Description device, Description other) {
    const auto names = merge_sources(device, other);
    for (auto& [path, datum] : other.data) rename_sources(datum, names);
    device.data.merge(other.data);
    return device;
}

Description apply_overlay(Description device, Description overlay) {
    const auto names = merge_sources(device, overlay);
    for (auto& [path, datum] : overlay.data) {
        rename_sources(datum, names);
        const auto present = device.data.find(path);
        if (present != device.data.end()) present->second = std::move(datum);
    }
    device.data.merge(overlay.data);
    device.tolerances.insert(device.tolerances.end(), overlay.tolerances.begin(),
                             overlay.tolerances.end());
    return device;
}

}  // namespace ridge::hardware
