#include "hardware/variant.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/units.h"

namespace ridge::hardware {
namespace {

/// What a slice has of the GPU.
struct Part {
    std::int64_t sms = 0;
    double of_sms = 1.0;
    double of_memory = 1.0;
};

/// "1g=16 2g=32" by their first parts.
std::map<std::string, std::int64_t> slices_of(const std::string& text) {
    std::map<std::string, std::int64_t> slices;
    std::istringstream stream(text);
    for (std::string word; stream >> word;) {
        const std::size_t equal = word.find('=');
        if (equal == std::string::npos) throw InputError("mig.sms: '" + word + "' has no '='");
        slices[word.substr(0, equal)] = parse_count(word.substr(equal + 1), "mig.sms");
    }
    return slices;
}

Part part_of_slice(const Description& base, const std::string& slice) {
    const auto stated = base.text("mig.sms");
    if (!stated) throw InputError("gpu: no MIG slices of " + base.name + " are described");
    const std::map<std::string, std::int64_t> slices = slices_of(*stated);
    const std::size_t dot = slice.find('.');
    const auto found = slices.find(slice.substr(0, dot));
    if (found == slices.end()) {
        std::string known;
        for (const auto& [name, sms] : slices) known += (known.empty() ? "" : ", ") + name;
        throw InputError("gpu: " + base.name + " has no MIG slice '" + slice + "'", {},
                         "it has " + known);
    }
    const double whole = base.require<Bytes>("dram.capacity").in(units::GB);
    const std::string memory = slice.substr(dot + 1, slice.size() - dot - 3);
    const double asked = parse_number(memory, "gpu");
    // Vendors name a slice by a rounded size: the nearest number of eighths of the memory.
    const double eighths = std::max(1.0, std::round(8.0 * asked / whole));
    if (eighths > 8.0) {
        throw InputError("gpu: " + base.name + " has no " + slice.substr(dot + 1));
    }
    return {.sms = found->second,
            .of_sms = static_cast<double>(found->second) /
                      static_cast<double>(base.count("sm.count").value_or(found->second)),
            .of_memory = eighths / 8.0};
}

/// The share of the GPU's field that a slice has; empty if a slice has no such field.
std::optional<double> share_of(std::string_view path, const Part& part) {
    constexpr std::string_view left_out[] = {"link.", "dram.usable", "l2.partitions", "l2.slice",
                                             "mig."};
    for (const std::string_view prefix : left_out) {
        if (path.starts_with(prefix)) return std::nullopt;
    }
    if (path.starts_with("peak.") || path.starts_with("power.")) return part.of_sms;
    for (const std::string_view scaled : {"dram.capacity", "dram.capacity_nominal",
                                          "dram.bandwidth", "dram.bus_width", "l2.size"}) {
        if (path == scaled) return part.of_memory;
    }
    return 1.0;
}

std::string quoted_toml(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

/// "h100-sxm-1g.10gb-500w": names of devices have no ':' and '@'.
std::string name_of(const Description& base, const Variant& variant) {
    std::string name = base.name;
    if (!variant.slice.empty()) name += "-" + variant.slice;
    if (variant.limit) {
        name += "-" + std::to_string(std::llround(variant.limit->in(units::W))) + "w";
    }
    return name;
}

std::string value_of(const Description& base, const std::string& path, const Datum& datum,
                     double share) {
    if (std::holds_alternative<InWords>(datum.value)) return quoted_toml(datum.text.str());
    if (const auto* count = std::get_if<std::int64_t>(&datum.value)) {
        return std::to_string(std::llround(share * static_cast<double>(*count)));
    }
    const double value = share * std::get<double>(datum.value);
    if (share == 1.0 && !datum.text.empty()) return quoted_toml(written(datum));
    const Field* const field = device_schema().find(path);
    RIDGE_CONTRACT(field != nullptr);
    static_cast<void>(base);
    const std::string text = format_exact(value, field->dimension);
    return field->kind == ValueKind::quantity ? quoted_toml(text) : text;
}

}  // namespace

std::optional<Variant> parse_variant(std::string_view name) {
    const std::size_t mark = name.find_first_of(":@");
    if (mark == std::string_view::npos || mark == 0) return std::nullopt;
    Variant variant{.name = std::string(name), .base = std::string(name.substr(0, mark))};
    std::string_view rest = name.substr(mark);
    if (rest.front() == ':') {
        const std::size_t end = std::min(rest.find('@'), rest.size());
        variant.slice = rest.substr(1, end - 1);
        rest.remove_prefix(end);
        const std::size_t dot = variant.slice.find('.');
        if (dot == std::string::npos || !variant.slice.ends_with("gb") || dot < 2) {
            throw InputError("gpu: '" + variant.slice + "' is not a MIG slice", {},
                             "such as 1g.10gb");
        }
    }
    if (!rest.empty()) variant.limit = parse_quantity<Power>(rest.substr(1));
    return variant;
}

std::string variant_toml(const Description& base, const Variant& variant) {
    Part part;
    if (!variant.slice.empty()) part = part_of_slice(base, variant.slice);
    std::string title = base.title;
    if (!variant.slice.empty()) title += ", MIG " + variant.slice;
    if (variant.limit) {
        const auto own = base.quantity<Power>("power.limit");
        if (!own) throw InputError("gpu: the power limit of " + base.name + " is not described");
        if (*variant.limit > *own || *variant.limit < 0.1 * *own) {
            throw InputError("gpu: the limit must be " + format(0.1 * *own) + " to " +
                             format(*own) + ", that of " + base.name);
        }
        title += " at " + format(*variant.limit);
    }
    std::ostringstream out;
    out << "schema = 1\nname = " << quoted_toml(name_of(base, variant))
        << "\ntitle = " << quoted_toml(title) << "\naliases = [" << quoted_toml(variant.name)
        << "]\nvendor = " << quoted_toml(base.vendor)
        << "\ninherits = " << quoted_toml(base.inherits) << "\n";
    std::map<std::string, const Datum*> sorted;
    for (const auto& [path, datum] : base.data) {
        const bool fact = !path.starts_with("model.") && !path.starts_with("measured.");
        if (fact && !datum.inherited) sorted[path] = &datum;
    }
    for (const auto& [path, datum] : sorted) {
        std::optional<double> share = 1.0;
        if (!variant.slice.empty()) share = share_of(path, part);
        if (!share) continue;
        std::string value = value_of(base, path, *datum, *share);
        if (path == "sm.count" && part.sms > 0) value = std::to_string(part.sms);
        if (path == "power.limit" && variant.limit) {
            out << "power.design = { value = " << value << ", source = \"PART\" }\n";
            value = quoted_toml(format_exact(variant.limit->base(), Power::dimension));
        }
        out << path << " = { value = " << value << ", source = \"PART\" }\n";
    }
    out << "[sources]\nPART = { kind = \"derived\", text = "
        << quoted_toml("the description of " + base.name + ", scaled to " + variant.name) << " }\n";
    return out.str();
}

}  // namespace ridge::hardware
