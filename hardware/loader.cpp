#include "hardware/loader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "hardware/field_reader.h"
#include "hardware/node_reader.h"
#include "hardware/schema.h"

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
    DescriptionReader(const Node& root, SharedText text, const Schema& schema, const Form& form,
                      std::span<const std::string> only = {})
        : root_(root),
          text_(std::move(text)),
          schema_(schema),
          form_(form),
          header_keys_(keys_of(form)),
          only_(only) {}

    Loaded read() {
        constexpr std::size_t usual_fields = 512;
        read_header();
        if (only_.empty()) loaded_.description.data.reserve(usual_fields);
        if (const Node* sources = root_.child("sources")) read_sources(*sources);
        if (const Node* tolerance = root_.child("tolerance")) read_tolerances(*tolerance);
        for (const Node& child : root_.children) {
            if (is_row_table(child.key)) {
                read_rows(child);
            } else if (!is_header_key(child.key)) {
                read_fields(context_, text_, child, loaded_.description);
            }
        }
        return finished();
    }

    Loaded read_names() {
        read_header();
        return finished();
    }

  private:
    static constexpr std::array<std::string_view, 10> usual_keys{
        "schema",  "kind",     "name",    "title",   "vendor",
        "aliases", "inherits", "overlay", "sources", "tolerance"};

    Loaded finished() {
        loaded_.problems = std::move(nodes_.problems);
        return std::move(loaded_);
    }

    static std::vector<std::string_view> keys_of(const Form& form) {
        std::vector<std::string_view> keys(usual_keys.begin(), usual_keys.end());
        keys.insert(keys.end(), form.words.begin(), form.words.end());
        keys.insert(keys.end(), form.tables.begin(), form.tables.end());
        return keys;
    }

    [[nodiscard]] bool is_header_key(std::string_view key) const {
        return std::find(header_keys_.begin(), header_keys_.end(), key) != header_keys_.end();
    }

    std::string_view header_text(std::string_view key, bool required) {
        const Node* node = root_.child(key);
        if (node != nullptr) return nodes_.string_of(*node, key);
        if (required) {
            nodes_.report({.file = *root_.file, .line = 1, .column = 1},
                          "\"" + std::string(key) + "\" is missing");
        }
        return {};
    }

    void read_header() {
        Description& description = loaded_.description;
        const Node* schema = root_.child("schema");
        if (schema == nullptr) {
            nodes_.report({.file = *root_.file, .line = 1, .column = 1},
                          "\"schema\" is missing: begin the file with schema = 1");
        } else if (schema->kind != NodeKind::integer || schema->integer != 1) {
            nodes_.report(schema->location(), "schema must be 1, the only supported version");
        }
        read_kind();
        const bool device = description.kind == DescriptionKind::gpu ||
                            description.kind == DescriptionKind::accelerator;
        description.name = header_text("name", true);
        if (const Node* name = root_.child("name")) description.location = name->location();
        if (!description.name.empty() && !is_plain_name(description.name)) {
            nodes_.report(
                description.location,
                "name \"" + description.name + R"(" may hold only a-z, 0-9, "-", "_" and ".")");
        }
        description.title = header_text("title", device);
        description.vendor = header_text("vendor", device);
        description.inherits = header_text("inherits", false);
        description.overlay = header_text("overlay", description.kind == DescriptionKind::overlay);
        if (!description.overlay.empty() && description.kind != DescriptionKind::overlay) {
            nodes_.report(root_.child("overlay")->key_location(),
                          "only a file with kind = \"overlay\" can name a device to overlay");
        }
        for (const std::string_view word : form_.words) {
            const Node* const node = root_.child(word);
            if (node == nullptr) continue;
            description.words.texts.emplace(word, nodes_.strings_of(*node, word));
            description.words.location = node->location();
        }
        if (const Node* aliases = root_.child("aliases")) {
            description.aliases = nodes_.strings_of(*aliases, "aliases");
        }
    }

    void read_kind() {
        const Node* const kind = root_.child("kind");
        Description& description = loaded_.description;
        if (!form_.kind.empty()) description.kind = DescriptionKind::data;
        if (kind == nullptr && form_.kind.empty()) return;
        const std::string_view text =
            kind == nullptr ? std::string_view() : nodes_.string_of(*kind, "kind");
        if (!form_.kind.empty()) {
            if (text == form_.kind) return;
            nodes_.report(kind == nullptr ? Location{.file = *root_.file, .line = 1, .column = 1}
                                          : kind->location(),
                          "kind must be \"" + std::string(form_.kind) + "\"");
            return;
        }
        const auto found = named_value(described_kinds, text);
        if (found) description.kind = *found;
        if (!found && !text.empty()) {
            nodes_.report(kind->location(), "unknown kind \"" + std::string(text) +
                                                "\": gpu, accelerator, architecture or overlay");
        }
    }

    void read_sources(const Node& table) {
        if (table.kind != NodeKind::table) {
            nodes_.report(table.location(), "sources must be a table");
            return;
        }
        for (const Node& entry : table.children) {
            Source source{
                .key = std::string(entry.key), .provenance = Provenance::estimate, .text = {}};
            const Node* kind = entry.child("kind");
            const Node* text = entry.child("text");
            if (entry.kind != NodeKind::table || kind == nullptr || text == nullptr) {
                nodes_.report(entry.location(),
                              "source " + source.key +
                                  " must be { kind = \"vendor|measured|derived|estimate\""
                                  ", text = \"...\" }");
                continue;
            }
            nodes_.reject_other_keys(
                entry, {"kind", "text", "command", "records", "digest", "date"}, "a source");
            const std::string_view kind_text = nodes_.string_of(*kind, "kind");
            const auto provenance = named_value(provenances, kind_text);
            if (provenance) {
                source.provenance = *provenance;
            } else if (!kind_text.empty()) {
                nodes_.report(kind->location(), "unknown kind of source \"" +
                                                    std::string(kind_text) +
                                                    "\": vendor, measured, derived or estimate");
            }
            source.text = nodes_.string_of(*text, "text");
            source.command = optional_text(entry, "command");
            source.records = optional_text(entry, "records");
            source.digest = optional_text(entry, "digest");
            source.date = optional_text(entry, "date");
            loaded_.description.sources.emplace(source.key, std::move(source));
        }
    }

    SharedText optional_text(const Node& table, std::string_view key) {
        const Node* const node = table.child(key);
        return node == nullptr ? SharedText() : text_.part(nodes_.string_of(*node, key));
    }

    void read_tolerances(const Node& list) {
        if (list.kind != NodeKind::array) {
            nodes_.report(list.location(), "tolerance must be written [[tolerance]]");
            return;
        }
        for (const Node& entry : list.children) {
            const Node* check = entry.child("check");
            const Node* percent = entry.child("percent");
            const Node* reason = entry.child("reason");
            if (check == nullptr || percent == nullptr || reason == nullptr) {
                nodes_.report(entry.location(), "a tolerance needs check, percent and reason");
                continue;
            }
            nodes_.reject_other_keys(entry, {"check", "percent", "reason"}, "a tolerance");
            Tolerance tolerance{.check = std::string(nodes_.string_of(*check, "check")),
                                .percent = percent->kind == NodeKind::integer
                                               ? static_cast<double>(percent->integer)
                                               : percent->real,
                                .reason = std::string(nodes_.string_of(*reason, "reason"))};
            if (schema_.find(tolerance.check) == nullptr)
                report_unknown(context_, *check, tolerance.check);
            if (!(tolerance.percent > 0.0 && tolerance.percent <= 100.0)) {
                nodes_.report(percent->location(), "percent must lie between 0 and 100");
                continue;
            }
            loaded_.description.tolerances.push_back(std::move(tolerance));
        }
    }

    [[nodiscard]] bool is_row_table(std::string_view key) const {
        return std::find(form_.tables.begin(), form_.tables.end(), key) != form_.tables.end();
    }

    /// A table of texts, or several.
    void read_rows(const Node& table) {
        if (table.kind == NodeKind::table) {
            read_row(table, table.key);
            return;
        }
        if (table.kind != NodeKind::array) {
            nodes_.report(table.location(), std::string(table.key) + " must be a table");
            return;
        }
        for (const Node& entry : table.children) {
            if (entry.kind == NodeKind::table) {
                read_row(entry, table.key);
            } else {
                nodes_.report(entry.location(), std::string(table.key) + " must be written [[" +
                                                    std::string(table.key) + "]]");
            }
        }
    }

    void read_row(const Node& entry, std::string_view table) {
        Row row{.table = std::string(table), .texts = {}, .location = entry.location()};
        for (const Node& child : entry.children) {
            row.texts.emplace(child.key, nodes_.strings_of(child, child.key));
        }
        loaded_.description.rows.push_back(std::move(row));
    }

    const Node& root_;
    SharedText text_;  ///< the text that the nodes' strings point into
    const Schema& schema_;
    const Form& form_;
    std::vector<std::string_view> header_keys_;
    std::span<const std::string> only_;  ///< fields and sections to read; empty: all of them
    NodeReader nodes_;
    FieldContext context_{nodes_, schema_, header_keys_, only_};
    Loaded loaded_;
};

}  // namespace

Loaded load_text(std::string_view toml, const std::string& file, const Schema& schema,
                 const Form& form) {
    return load_text(SharedText::copy_of(toml), file, schema, form);
}

Loaded load_text(const SharedText& toml, const std::string& file, const Schema& schema,
                 const Form& form) {
    return load_fields(toml, file, schema, {}, form);
}

Loaded load_fields(const SharedText& toml, const std::string& file, const Schema& schema,
                   std::span<const std::string> only, const Form& form) {
    const Document document = parse_document(toml.view(), file);
    if (document.problem) return {.description = {}, .problems = {*document.problem}};
    Loaded loaded = DescriptionReader(document.root, toml, schema, form, only).read();
    loaded.description.origin = file;
    std::stable_sort(
        loaded.problems.begin(), loaded.problems.end(), [](const Problem& a, const Problem& b) {
            return a.location.line != b.location.line ? a.location.line < b.location.line
                                                      : a.location.column < b.location.column;
        });
    return loaded;
}

namespace {

std::string_view header_of(std::string_view toml) {
    return toml.substr(0, toml.starts_with('[') ? 0 : toml.find("\n["));
}

}  // namespace

Loaded load_header(std::string_view toml, const std::string& file, const Form& form) {
    const Document document = parse_document(header_of(toml), file);
    if (document.problem) return {.description = {}, .problems = {*document.problem}};
    Loaded loaded = DescriptionReader(document.root, {}, device_schema(), form).read_names();
    loaded.description.origin = file;
    return loaded;
}

std::string kind_of(std::string_view toml, const std::string& file) {
    const Document document = parse_document(header_of(toml), file);
    const Node* const kind = document.problem ? nullptr : document.root.child("kind");
    return kind != nullptr && kind->kind == NodeKind::text ? std::string(kind->text)
                                                           : std::string();
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
