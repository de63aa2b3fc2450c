#include "hardware/description.h"

#include <algorithm>

#include "hardware/schema.h"

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
    }
    contract_violated("the kind of description is known", __FILE__, __LINE__);
}

const Datum* Description::find(std::string_view path) const {
    const auto found = data.find(path);
    return found == data.end() ? nullptr : &found->second;
}

std::optional<double> Description::base_value(std::string_view path,
                                              const Dimension& dimension) const {
    const Field* field = find_field(path);
    RIDGE_CONTRACT(field != nullptr);
    RIDGE_CONTRACT(field->kind == ValueKind::quantity && field->dimension == dimension);
    const Datum* datum = find(path);
    return datum == nullptr ? std::nullopt : std::optional(std::get<double>(datum->value));
}

std::optional<std::int64_t> Description::count(std::string_view path) const {
    const Field* field = find_field(path);
    RIDGE_CONTRACT(field != nullptr && field->kind == ValueKind::count);
    const Datum* datum = find(path);
    return datum == nullptr ? std::nullopt : std::optional(std::get<std::int64_t>(datum->value));
}

std::optional<double> Description::number(std::string_view path) const {
    const Field* field = find_field(path);
    RIDGE_CONTRACT(field != nullptr && field->kind == ValueKind::number);
    const Datum* datum = find(path);
    return datum == nullptr ? std::nullopt : std::optional(std::get<double>(datum->value));
}

std::optional<std::string> Description::text(std::string_view path) const {
    const Field* field = find_field(path);
    RIDGE_CONTRACT(field != nullptr && field->kind == ValueKind::text);
    const Datum* datum = find(path);
    return datum == nullptr ? std::nullopt : std::optional(std::get<std::string>(datum->value));
}

std::int64_t Description::require_count(std::string_view path) const {
    const std::optional<std::int64_t> found = count(path);
    if (!found) throw_missing(path);
    return *found;
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
                     "add it in a file given by --gpu-file");
}

}  // namespace ridge::hardware
