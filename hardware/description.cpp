#include "hardware/description.h"

#include <algorithm>

#include "hardware/schema.h"
#include "hardware/units.h"

namespace ridge::hardware {

std::string_view to_string(Provenance provenance) {
    switch (provenance) {
        case Provenance::vendor:
            return "vendor";
        case Provenance::measured:
            return "measured";
        case Provenance::derived:
            return "derived";
        case Provenance::estimate:
            return "estimate";
    }
    contract_violated("the provenance is known", __FILE__, __LINE__);
}

std::string_view to_string(DescriptionKind kind) {
    switch (kind) {
        case DescriptionKind::gpu:
            return "gpu";
        case DescriptionKind::accelerator:
            return "accelerator";
        case DescriptionKind::architecture:
            return "architecture";
        case DescriptionKind::overlay:
            return "overlay";
        case DescriptionKind::data:
            return "data";
    }
    contract_violated("the kind of description is known", __FILE__, __LINE__);
}

std::string Row::text(std::string_view key) const {
    const auto found = texts.find(key);
    return found == texts.end() || found->second.empty() ? std::string() : found->second.front();
}

std::string written(const Datum& datum) {
    if (!datum.text.empty()) return datum.text.str();
    if (const auto* count = std::get_if<std::int64_t>(&datum.value)) return std::to_string(*count);
    return format_exact(std::get<double>(datum.value), dimensionless);
}

const Datum* Description::find(std::string_view path) const {
    const auto found = data.find(path);
    return found == data.end() ? nullptr : &found->second;
}

const Datum* Description::find_kind(std::string_view path, ValueKind wanted,
                                    const Dimension& dimension) const {
    const Field* const field = device_schema().find(path);
    if (field == nullptr) {  // a field of a larger schema, whose owner checks it
        RIDGE_CONTRACT(!device_schema().is_section(path.substr(0, path.find('.'))));
    } else {
        RIDGE_CONTRACT(field->kind == wanted && field->dimension == dimension);
    }
    return find(path);
}

std::optional<double> Description::base_value(std::string_view path,
                                              const Dimension& dimension) const {
    const Datum* datum = find_kind(path, ValueKind::quantity, dimension);
    return datum == nullptr ? std::nullopt : std::optional(std::get<double>(datum->value));
}

std::optional<std::int64_t> Description::count(std::string_view path) const {
    const Datum* datum = find_kind(path, ValueKind::count, dimensionless);
    return datum == nullptr ? std::nullopt : std::optional(std::get<std::int64_t>(datum->value));
}

std::optional<double> Description::number(std::string_view path) const {
    const Datum* datum = find_kind(path, ValueKind::number, dimensionless);
    return datum == nullptr ? std::nullopt : std::optional(std::get<double>(datum->value));
}

std::optional<std::string> Description::text(std::string_view path) const {
    const Datum* datum = find_kind(path, ValueKind::text, dimensionless);
    return datum == nullptr ? std::nullopt : std::optional(datum->text.str());
}

std::optional<double> Description::value(std::string_view path) const {
    const Datum* datum = find(path);
    if (datum == nullptr) return std::nullopt;
    if (const auto* count = std::get_if<std::int64_t>(&datum->value)) {
        return static_cast<double>(*count);
    }
    return std::get<double>(datum->value);
}

bool Description::has_own(std::string_view path) const {
    const Datum* datum = find(path);
    return datum != nullptr && !datum->inherited;
}

Provenance Description::provenance(std::string_view path) const {
    const Datum* datum = find(path);
    RIDGE_CONTRACT(datum != nullptr && !datum->sources.empty());
    Provenance strongest = Provenance::estimate;
    for (const std::string& key : datum->sources) {
        const auto source = sources.find(key);
        RIDGE_CONTRACT(source != sources.end());
        strongest = std::min(strongest, source->second.provenance);
    }
    return strongest;
}

void Description::throw_missing(std::string_view path) const {
    throw InputError("the description of " + name + " has no " + std::string(path), location,
                     "add it in a file given with --gpu-file");
}

}  // namespace ridge::hardware
