#include "hardware/loader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

#include "hardware/nearest.h"
#include "hardware/schema.h"
#include "hardware/units.h"

namespace ridge::hardware {
namespace {

constexpr std::array<Provenance, 4> provenances{Provenance::vendor, Provenance::measured,
                                                Provenance::derived, Provenance::estimate};
constexpr std::array<DescriptionKind, 4> described_kinds{
    DescriptionKind::gpu, DescriptionKind::accelerator, DescriptionKind::architecture,
    DescriptionKind::overlay};

template <class Value, std::size_t Count>
std::optional<Value> named_value(const std::array<Value, Count>& values, std::string_view name) {
    for (const Value value : values) {
        if (to_string(value) == name) return value;
    }
    return std::nullopt;
}

/// Whether the name can be used on a command line and as a file name.
bool is_plain_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 &&
           std::all_of(name.begin(), name.end(), [](char letter) {
               return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                      letter == '-' || letter == '_' || letter == '.';
           });
}

/// Walks a document once and collects its contents and its problems.
class DescriptionReader {
  public:
    DescriptionReader(const Node& root, SharedText text, const Schema& schema)
        : root_(root), text_(std::move(text)), schema_(schema) {}

    Loaded read() {
        constexpr std::size_t usual_fields = 512;
        read_header();
        loaded_.description.data.reserve(usual_fields);
        if (const Node* sources = root_.child("sources")) read_sources(*sources);
        if (const Node* tolerance = root_.child("tolerance")) read_tolerances(*tolerance);
        for (const Node& child : root_.children) {
            const bool unread = child.key == model_section && !schema_.is_section(model_section);
            if (is_header_key(child.key) || unread) continue;
            path_.assign(child.key);
            read_section(child);
        }
        return std::move(loaded_);
    }

    Loaded read_names() {
        read_header();
        return std::move(loaded_);
    }

  private:
    static constexpr std::array<std::string_view, 11> header_keys{
        "schema",   "kind",    "name",        "title",   "vendor",   "aliases",
        "inherits", "overlay", "corrections", "sources", "tolerance"};

    static bool is_header_key(std::string_view key) {
        return std::find(header_keys.begin(), header_keys.end(), key) != header_keys.end();
    }

    void report(const Location& location, const std::string& message) {
        loaded_.problems.push_back({location, message});
    }

    /// The text of a string node; otherwise reports a problem and returns "".
    std::string_view string_of(const Node& node, std::string_view what,
                               std::string_view part = {}) {
        const bool is_text = node.kind == NodeKind::text;
        if (is_text && !node.text.empty()) return node.text;
        const std::string name = std::string(part) + std::string(what);
        report(node.location(),
               is_text ? name + " is empty"
                       : name + " must be a string, not " + std::string(to_string(node.kind)));
        return {};
    }

    std::vector<std::string> strings_of(const Node& node, std::string_view what) {
        std::vector<std::string> result;
        if (node.kind == NodeKind::array) {
            result.reserve(node.children.size());
            for (const Node& child : node.children) {
                result.emplace_back(string_of(child, what, "every entry of "));
            }
            if (result.empty()) report(node.location(), std::string(what) + " is empty");
        } else {
            result.emplace_back(string_of(node, what));
        }
        std::erase_if(result, [](const std::string& text) { return text.empty(); });
        return result;
    }

    std::string_view header_text(std::string_view key, bool required) {
        const Node* node = root_.child(key);
        if (node != nullptr) return string_of(*node, key);
        if (required) {
            report({.file = *root_.file, .line = 1, .column = 1},
                   "\"" + std::string(key) + "\" is missing");
        }
        return {};
    }

    void read_header() {
        Description& description = loaded_.description;
        const Node* schema = root_.child("schema");
        if (schema == nullptr) {
            report({.file = *root_.file, .line = 1, .column = 1},
                   "\"schema\" is missing: begin the file with schema = 1");
        } else if (schema->kind != NodeKind::integer || schema->integer != 1) {
            report(schema->location(), "schema must be 1, the only supported version");
        }
        if (const Node* kind = root_.child("kind")) {
            const std::string_view text = string_of(*kind, "kind");
            const auto found = named_value(described_kinds, text);
            if (found) description.kind = *found;
            if (!found && !text.empty()) {
                report(kind->location(), "unknown kind \"" + std::string(text) +
                                             "\": gpu, accelerator, architecture or overlay");
            }
        }
        const bool device = description.kind == DescriptionKind::gpu ||
                            description.kind == DescriptionKind::accelerator;
        description.name = header_text("name", true);
        if (const Node* name = root_.child("name")) description.location = name->location();
        if (!description.name.empty() && !is_plain_name(description.name)) {
            report(description.location,
                   "name \"" + description.name + R"(" may hold only a-z, 0-9, "-", "_" and ".")");
        }
        description.title = header_text("title", device);
        description.vendor = header_text("vendor", device);
        description.inherits = header_text("inherits", false);
        description.overlay = header_text("overlay", description.kind == DescriptionKind::overlay);
        if (!description.overlay.empty() && description.kind != DescriptionKind::overlay) {
            report(root_.child("overlay")->key_location(),
                   "only a file with kind = \"overlay\" can name a device to overlay");
        }
        description.corrections = header_text("corrections", false);
        if (!description.corrections.empty() && !device) {
            report(root_.child("corrections")->key_location(),
                   "only a device can use the corrections of another");
        }
        if (const Node* aliases = root_.child("aliases")) {
            description.aliases = strings_of(*aliases, "aliases");
        }
    }

    void read_sources(const Node& table) {
        if (table.kind != NodeKind::table) {
            report(table.location(), "sources must be a table");
            return;
        }
        for (const Node& entry : table.children) {
            Source source{
                .key = std::string(entry.key), .provenance = Provenance::estimate, .text = {}};
            const Node* kind = entry.child("kind");
            const Node* text = entry.child("text");
            if (entry.kind != NodeKind::table || kind == nullptr || text == nullptr) {
                report(entry.location(),
                       "source " + source.key +
                           " must be { kind = \"vendor|measured|derived|estimate\""
                           ", text = \"...\" }");
                continue;
            }
            reject_other_keys(entry, {"kind", "text"}, "a source");
            const std::string_view kind_text = string_of(*kind, "kind");
            const auto provenance = named_value(provenances, kind_text);
            if (provenance) {
                source.provenance = *provenance;
            } else if (!kind_text.empty()) {
                report(kind->location(), "unknown kind of source \"" + std::string(kind_text) +
                                             "\": vendor, measured, derived or estimate");
            }
            source.text = string_of(*text, "text");
            loaded_.description.sources.emplace(source.key, std::move(source));
        }
    }

    void read_tolerances(const Node& list) {
        if (list.kind != NodeKind::array) {
            report(list.location(), "tolerance must be written [[tolerance]]");
            return;
        }
        for (const Node& entry : list.children) {
            const Node* check = entry.child("check");
            const Node* percent = entry.child("percent");
            const Node* reason = entry.child("reason");
            if (check == nullptr || percent == nullptr || reason == nullptr) {
                report(entry.location(), "a tolerance needs check, percent and reason");
                continue;
            }
            reject_other_keys(entry, {"check", "percent", "reason"}, "a tolerance");
            Tolerance tolerance{.check = std::string(string_of(*check, "check")),
                                .percent = percent->kind == NodeKind::integer
                                               ? static_cast<double>(percent->integer)
                                               : percent->real,
                                .reason = std::string(string_of(*reason, "reason"))};
            if (schema_.find(tolerance.check) == nullptr) report_unknown(*check, tolerance.check);
            if (!(tolerance.percent > 0.0 && tolerance.percent <= 100.0)) {
                report(percent->location(), "percent must lie between 0 and 100");
                continue;
            }
            loaded_.description.tolerances.push_back(std::move(tolerance));
        }
    }

    void reject_other_keys(const Node& table, std::initializer_list<std::string_view> known,
                           std::string_view what) {
        for (const Node& child : table.children) {
            if (std::find(known.begin(), known.end(), child.key) != known.end()) continue;
            const std::vector<std::string> names(known.begin(), known.end());
            const std::string near_key = nearest(child.key, names);
            report(child.key_location(),
                   "unknown key \"" + std::string(child.key) + "\" in " + std::string(what) +
                       (near_key.empty() ? "" : ", did you mean \"" + near_key + "\"?"));
        }
    }

    void report_unknown(const Node& node, const std::string& path) {
        std::string near_key = schema_.nearest(path);
        if (path.find('.') == std::string::npos) {
            const std::vector<std::string> keys(header_keys.begin(), header_keys.end());
            const std::string header = nearest(path, keys);
            if (!header.empty()) near_key = header;
        }
        report(node.key.empty() ? node.location() : node.key_location(),
               "unknown key \"" + path + "\"" +
                   (near_key.empty() ? "" : ", did you mean \"" + near_key + "\"?"));
    }

    /// Reads the node at `path_`.
    void read_section(const Node& node) {
        if (const Field* field = schema_.find(path_)) {
            read_datum(node, *field);
        } else if (!schema_.is_section(path_) || node.kind != NodeKind::table) {
            report_unknown(node, path_);
        } else {
            const std::size_t length = path_.size();
            for (const Node& child : node.children) {
                path_ += '.';
                path_ += child.key;
                read_section(child);
                path_.resize(length);
            }
        }
    }

    /// Reads the sources of a value; `node` is null if it names none.
    std::vector<std::string> read_source_keys(const Node& table, const Node* node,
                                              const std::string& path) {
        if (node == nullptr) {
            report(table.location(), path + " has no source");
            return {};
        }
        std::vector<std::string> keys = strings_of(*node, "source");
        for (const std::string& key : keys) {
            if (loaded_.description.sources.contains(key)) continue;
            report(node->location(), "source \"" + key + "\" is not declared in [sources]");
        }
        return keys;
    }

    /// The parts of a field's table.
    struct Parts {
        const Node* value = nullptr;
        const Node* source = nullptr;
        const Node* note = nullptr;
        const Node* also = nullptr;
        bool others = false;
    };

    static Parts parts_of(const Node& table) {
        Parts parts;
        for (const Node& child : table.children) {
            if (child.key == "value") {
                parts.value = &child;
            } else if (child.key == "source") {
                parts.source = &child;
            } else if (child.key == "note") {
                parts.note = &child;
            } else if (child.key == "also") {
                parts.also = &child;
            } else {
                parts.others = true;
            }
        }
        return parts;
    }

    void read_datum(const Node& node, const Field& field) {
        const std::string& path = field.path;
        const Parts parts = parts_of(node);
        if (parts.value == nullptr) {
            report(node.location(), path + " must be { value = ..., source = \"...\" }");
            return;
        }
        if (parts.others) reject_other_keys(node, {"value", "source", "also", "note"}, path);
        Datum datum{.value = 0.0,
                    .text = {},
                    .sources = read_source_keys(node, parts.source, path),
                    .disputes = {},
                    .note = {},
                    .location = parts.value->location(),
                    .inherited = false};
        if (parts.note != nullptr) datum.note = text_.part(string_of(*parts.note, "note"));
        if (parts.also != nullptr) datum.disputes = read_disputes(*parts.also, field);
        if (read_value(*parts.value, field, datum)) {
            loaded_.description.data.insert_or_assign(path, std::move(datum));
        }
    }

    std::vector<Dispute> read_disputes(const Node& list, const Field& field) {
        std::vector<Dispute> disputes;
        if (list.kind != NodeKind::array) {
            report(list.location(), "also must be an array of { value = ..., source = \"...\" }");
            return disputes;
        }
        for (const Node& entry : list.children) {
            const Node* value = entry.kind == NodeKind::table ? entry.child("value") : nullptr;
            if (value == nullptr) {
                report(entry.location(),
                       "a disputed value must be { value = ..., source = \"...\" }");
                continue;
            }
            reject_other_keys(entry, {"value", "source"}, "a disputed value");
            Datum datum;
            const std::vector<std::string> keys =
                read_source_keys(entry, entry.child("source"), "a disputed value of " + field.path);
            if (read_value(*value, field, datum)) {
                disputes.push_back({.value = written(datum), .sources = keys});
            }
        }
        return disputes;
    }

    /// Stores the value and its text in `datum`; returns false after reporting a problem.
    bool read_value(const Node& node, const Field& field, Datum& datum) {
        switch (field.kind) {
            case ValueKind::quantity:
                return read_quantity(node, field, datum);
            case ValueKind::count:
                return read_count(node, field, datum);
            case ValueKind::number:
                return read_number(node, field, datum);
            case ValueKind::text:
                datum.text = text_.part(string_of(node, field.path));
                datum.value = InWords{};
                return !datum.text.empty();
        }
        contract_violated("the kind of value is known", __FILE__, __LINE__);
    }

    bool read_quantity(const Node& node, const Field& field, Datum& datum) {
        const std::string& path = field.path;
        if (node.kind != NodeKind::text) {
            report(node.location(), path + " must be a string with a unit such as \"" +
                                        std::string(quantity_kind(field.dimension).example) +
                                        "\", not " + std::string(to_string(node.kind)));
            return false;
        }
        try {
            const double base = parse_base(node.text, field.dimension);
            datum.value = base;
            datum.text = text_.part(node.text);
            return is_sensible(node, field, base);
        } catch (const InputError& error) {
            report(node.location(), path + ": " + error.message() +
                                        (error.hint().empty() ? "" : " (" + error.hint() + ")"));
            return false;
        }
    }

    bool is_sensible(const Node& node, const Field& field, double value) {
        if (value > 0.0 && field.range.contains(value)) return true;
        report(
            node.location(),
            field.path + (value == 0.0 ? " is zero; leave out a field that the device does not have"
                          : value < 0.0 ? " is negative"
                                        : " must lie in the range " + range_text(field)));
        return false;
    }

    bool read_count(const Node& node, const Field& field, Datum& datum) {
        const std::string& path = field.path;
        if (node.kind != NodeKind::integer) {
            report(node.location(),
                   path + " must be an integer, not " + std::string(to_string(node.kind)));
            return false;
        }
        if (!is_sensible(node, field, static_cast<double>(node.integer))) return false;
        datum.value = node.integer;
        return true;
    }

    bool read_number(const Node& node, const Field& field, Datum& datum) {
        const std::string& path = field.path;
        if (node.kind != NodeKind::integer && node.kind != NodeKind::real) {
            report(node.location(),
                   path + " must be a number, not " + std::string(to_string(node.kind)));
            return false;
        }
        const double value =
            node.kind == NodeKind::integer ? static_cast<double>(node.integer) : node.real;
        if (!std::isfinite(value)) {
            report(node.location(), path + " must be finite");
            return false;
        }
        datum.value = value;
        return is_sensible(node, field, value);
    }

    const Node& root_;
    SharedText text_;  ///< the text that the nodes' strings point into
    const Schema& schema_;
    std::string path_;  ///< path of the section that is being read
    Loaded loaded_;
};

}  // namespace

Loaded load_text(std::string_view toml, const std::string& file, const Schema& schema) {
    return load_text(SharedText::copy_of(toml), file, schema);
}

Loaded load_text(const SharedText& toml, const std::string& file, const Schema& schema) {
    const Document document = parse_document(toml.view(), file);
    if (document.problem) return {.description = {}, .problems = {*document.problem}};
    Loaded loaded = DescriptionReader(document.root, toml, schema).read();
    loaded.description.origin = file;
    std::stable_sort(
        loaded.problems.begin(), loaded.problems.end(), [](const Problem& a, const Problem& b) {
            return a.location.line != b.location.line ? a.location.line < b.location.line
                                                      : a.location.column < b.location.column;
        });
    return loaded;
}

Loaded load_header(std::string_view toml, const std::string& file) {
    const std::size_t section = toml.starts_with('[') ? 0 : toml.find("\n[");
    const Document document = parse_document(toml.substr(0, section), file);
    if (document.problem) return {.description = {}, .problems = {*document.problem}};
    Loaded loaded = DescriptionReader(document.root, {}, device_schema()).read_names();
    loaded.description.origin = file;
    return loaded;
}

std::vector<Problem> missing_fields(const Description& description) {
    std::vector<Problem> problems;
    for (const Field& field : device_schema().fields()) {
        const bool required = description.kind == DescriptionKind::gpu &&
                              field.presence == Presence::required_for_gpu;
        if (required && description.find(field.path) == nullptr) {
            problems.push_back({description.location, description.name + " has no " + field.path});
        }
    }
    return problems;
}

void throw_problems(const std::vector<Problem>& problems) {
    if (problems.empty()) return;
    std::string message = problems.front().message;
    for (std::size_t i = 1; i < problems.size(); ++i) message += "\n" + to_string(problems[i]);
    throw InputError(message, problems.front().location);
}

}  // namespace ridge::hardware
