#include "hardware/listing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
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

/// Sections in which the description has fields of one pattern's section, each in the order of the
/// patterns.
class NamedSections {
  public:
    NamedSections(const Description& description, const Schema& schema) {
        for (const auto& [path, datum] : description.data) {
            const std::size_t point = path.rfind('.');
            if (point != std::string::npos) sections_.insert(path.substr(0, point));
        }
        for (const Field& field : schema.fields()) {
            if (!is_pattern(field.path)) continue;
            const std::size_t point = field.path.rfind('.');
            const std::string above = field.path.substr(0, point);
            names_[above].push_back(field.path.substr(point + 1));
        }
    }

    /// All fields of the pattern's section, once.
    void add(const std::string& pattern, const Description& description, const Schema& schema,
             std::vector<const Field*>& fields) {
        const std::string above = pattern.substr(0, pattern.rfind('.'));
        const auto found = names_.find(above);
        if (found == names_.end()) return;
        for (const std::string& section : sections_) {
            for (const std::string& name : found->second) {
                const std::string path = section + '.' + name;
                if (description.find(path) == nullptr || !is_like(path, pattern)) continue;
                fields.push_back(schema.find(path));
            }
        }
        names_.erase(found);
    }

  private:
    /// Whether the fixed parts of a pattern before its first `*` begin the path, at the same depth.
    static bool is_like(const std::string& path, const std::string& pattern) {
        const std::string fixed = pattern.substr(0, pattern.find('*'));
        return path.starts_with(fixed) && std::count(path.begin(), path.end(), '.') ==
                                              std::count(pattern.begin(), pattern.end(), '.');
    }

    std::set<std::string> sections_;
    std::map<std::string, std::vector<std::string>> names_;  ///< by the patterns' sections
};

}  // namespace

std::vector<const Field*> fields_of(const Description& description, const Schema& schema) {
    std::vector<const Field*> fields;
    NamedSections named(description, schema);
    for (const Field& field : schema.fields()) {
        if (is_pattern(field.path)) {
            named.add(field.path, description, schema, fields);
        } else if (description.find(field.path) != nullptr) {
            fields.push_back(&field);
        }
    }
    return fields;
}

std::vector<ListedField> list_fields(const Description& description, const Schema& schema) {
    std::vector<ListedField> rows;
    for (const Field* const each : fields_of(description, schema)) {
        const Field& field = *each;
        const Datum* datum = description.find(field.path);
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
    for (const Field* const each : fields_of(description, schema)) {
        const Field& field = *each;
        const Datum* datum = description.find(field.path);
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
