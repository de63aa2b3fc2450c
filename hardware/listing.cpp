#include "hardware/listing.h"

#include <cmath>
#include <variant>

#include "hardware/json.h"
#include "hardware/schema.h"

namespace ridge::hardware {
namespace {

Json json_value(const Datum& datum) {
    if (const auto* count = std::get_if<std::int64_t>(&datum.value)) return *count;
    if (std::holds_alternative<InWords>(datum.value)) return datum.text.str();
    const double base = std::get<double>(datum.value);
    constexpr double exact = 9007199254740992.0;
    if (base == std::floor(base) && std::fabs(base) <= exact)
        return static_cast<std::int64_t>(base);
    return base;
}

}  // namespace

std::vector<ListedField> list_fields(const Description& description, const Schema& schema) {
    std::vector<ListedField> rows;
    for (const Field& field : schema.fields()) {
        const Datum* datum = description.find(field.path);
        if (datum == nullptr) continue;
        ListedField row{.path = field.path,
                        .meaning = meaning_of(field),
                        .value = written(*datum),
                        .provenance = std::string(to_string(description.provenance(field.path))),
                        .source_keys = datum->sources,
                        .source_texts = {},
                        .disputes = datum->disputes,
                        .note = datum->note.str(),
                        .place = to_string(datum->location)};
        for (const std::string& key : datum->sources) {
            row.source_texts.push_back(description.sources.find(key)->second.text);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string to_json(const Description& description, const Schema& schema) {
    Json root;
    root["name"] = description.name;
    root["title"] = description.title;
    root["vendor"] = description.vendor;
    root["kind"] = to_string(description.kind);
    root["aliases"] = description.aliases;
    root["inherits"] = description.inherits;
    for (const auto& [key, texts] : description.words.texts) {
        if (texts.size() == 1) root[key] = texts.front();
    }
    root["origin"] = description.origin;
    for (const auto& [key, source] : description.sources) {
        root["sources"][key] = {{"kind", to_string(source.provenance)}, {"text", source.text}};
    }
    root["fields"] = Json::object();
    for (const Field& field : schema.fields()) {
        const Datum* datum = description.find(field.path);
        if (datum == nullptr) continue;
        const std::string_view suffix = unit_suffix(field);
        std::string key = field.path;
        if (!suffix.empty()) key += "_" + std::string(suffix);
        Json entry;
        entry["value"] = json_value(*datum);
        entry["text"] = written(*datum);
        entry["provenance"] = to_string(description.provenance(field.path));
        entry["sources"] = datum->sources;
        for (const Dispute& dispute : datum->disputes) {
            entry["also"].push_back({{"text", dispute.value}, {"sources", dispute.sources}});
        }
        if (!datum->note.empty()) entry["note"] = datum->note.str();
        root["fields"][key] = std::move(entry);
    }
    return root.text(2);
}

}  // namespace ridge::hardware
