#include "model/catalogue/calibration_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "hardware/listing.h"
#include "model/machine/schema.h"

namespace ridge::model {
namespace {

using hardware::Datum;
using hardware::Description;

/// Between quotes, as TOML writes it.
std::string quoted_text(std::string_view text) {
    std::string quoted = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') quoted += '\\';
        quoted += letter;
    }
    return quoted + '"';
}

void add_keys(const std::vector<std::string>& keys, std::vector<std::string>& all) {
    for (const std::string& key : keys) {
        if (std::find(all.begin(), all.end(), key) == all.end()) all.push_back(key);
    }
}

std::string keys_text(const std::vector<std::string>& keys) {
    if (keys.size() == 1) return quoted_text(keys.front());
    std::string text = "[";
    for (const std::string& key : keys) {
        text += (text.size() == 1 ? "" : ", ") + quoted_text(key);
    }
    return text + "]";
}

/// A number as the file wrote it, or a text in quotes.
std::string value_text(const Datum& datum) {
    if (!datum.text.empty()) return quoted_text(datum.text.view());
    return written(datum);
}

std::string field_text(std::string_view name, const Datum& datum) {
    std::string text = fmt::format("{} = {{ value = {}, source = {}", name, value_text(datum),
                                   keys_text(datum.sources));
    if (!datum.note.empty()) text += ", note = " + quoted_text(datum.note.view());
    return text + " }\n";
}

std::string source_text(const hardware::Source& source) {
    std::string text = fmt::format("{} = {{ kind = \"{}\", text = {}", source.key,
                                   to_string(source.provenance), quoted_text(source.text));
    const auto add = [&text](const char* key, const SharedText& value) {
        if (!value.empty()) text += fmt::format(", {} = {}", key, quoted_text(value.view()));
    };
    add("command", source.command);
    add("records", source.records);
    add("digest", source.digest);
    add("date", source.date);
    return text + " }\n";
}

}  // namespace

std::string calibration_text(const Description& calibration) {
    std::string fields;
    std::string section;
    std::vector<std::string> keys;
    for (const hardware::Field* const each : hardware::fields_of(calibration, schema())) {
        const hardware::Field& field = *each;
        const Datum* const datum = calibration.find(field.path);
        add_keys(datum->sources, keys);
        const std::size_t point = field.path.rfind('.');
        const std::string of = field.path.substr(0, point);
        if (of != section) fields += fmt::format("\n[{}]\n", of);
        section = of;
        fields += field_text(std::string_view(field.path).substr(point + 1), *datum);
    }
    std::string text = "schema = 1\nkind = \"calibration\"\n";
    text += fmt::format("name = {}\n", quoted_text(calibration.name));
    for (const char* const word : {"chip", "architecture", "software"}) {
        const std::string value = calibration.words.text(word);
        if (!value.empty()) text += fmt::format("{} = {}\n", word, quoted_text(value));
    }
    text += "\n[sources]\n";
    for (const std::string& key : keys) {
        const auto found = calibration.sources.find(key);
        if (found != calibration.sources.end()) text += source_text(found->second);
    }
    return text + fields;
}

}  // namespace ridge::model
