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
    DescriptionReader(const Node& root, SharedText text, const Schema& schema,
                      std::span<const std::string> only = {})
        : root_(root), text_(std::move(text)), schema_(schema), only_(only) {}

    Loaded read() {
        constexpr std::size_t usual_fields = 512;
        read_header();
        if (only_.empty()) loaded_.description.data.reserve(usual_fields);
        if (const Node* sources = root_.child("sources")) read_sources(*sources);
        if (const Node* tolerance = root_.child("tolerance")) read_tolerances(*tolerance);
        if (const Node* carried = root_.child("carried_over")) read_carried_over(*carried);
        for (const Node& child : root_.children) {
            if (is_header_key(child.key) || is_unread(child.key)) continue;
            read_fields(context_, text_, child, loaded_.description);
        }
        return finished();
    }

    Loaded read_names() {
        read_header();
        return finished();
    }

  private:
    static constexpr std::array<std::string_view, 12> header_keys{
        "schema",   "kind",    "name",        "title",   "vendor",    "aliases",
        "inherits", "overlay", "corrections", "sources", "tolerance", "carried_over"};

    Loaded finished() {
        loaded_.problems = std::move(nodes_.problems);
        return std::move(loaded_);
    }

    static bool is_header_key(std::string_view key) {
        return std::find(header_keys.begin(), header_keys.end(), key) != header_keys.end();
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
        if (const Node* kind = root_.child("kind")) {
            const std::string_view text = nodes_.string_of(*kind, "kind");
            const auto found = named_value(described_kinds, text);
            if (found) description.kind = *found;
            if (!found && !text.empty()) {
                nodes_.report(kind->location(),
                              "unknown kind \"" + std::string(text) +
                                  "\": gpu, accelerator, architecture or overlay");
            }
        }
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
        description.corrections = header_text("corrections", false);
        if (!description.corrections.empty() && !device) {
            nodes_.report(root_.child("corrections")->key_location(),
                          "only a device can use the corrections of another");
        }
        if (const Node* aliases = root_.child("aliases")) {
            description.aliases = nodes_.strings_of(*aliases, "aliases");
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
            nodes_.reject_other_keys(entry, {"kind", "text"}, "a source");
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
            loaded_.description.sources.emplace(source.key, std::move(source));
        }
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

    void read_carried_over(const Node& list) {
        if (list.kind != NodeKind::array) {
            nodes_.report(list.location(), "carried_over must be written [[carried_over]]");
            return;
        }
        if (loaded_.description.kind != DescriptionKind::architecture) {
            nodes_.report(list.location(), "only an architecture can carry parameters over");
            return;
        }
        for (const Node& entry : list.children) {
            const Node* from = entry.child("from");
            const Node* parameters = entry.child("parameters");
            if (from == nullptr || parameters == nullptr) {
                nodes_.report(entry.location(), "carried_over needs from and parameters");
                continue;
            }
            nodes_.reject_other_keys(entry, {"from", "parameters"}, "carried_over");
            CarriedOver carried{.from = std::string(nodes_.string_of(*from, "from")),
                                .paths = nodes_.strings_of(*parameters, "parameters"),
                                .location = from->location()};
            for (const std::string& path : carried.paths) {
                if (!is_known(path)) report_unknown(context_, *parameters, path);
            }
            loaded_.description.carried_over.push_back(std::move(carried));
        }
    }

    /// Whether the section holds the model's parameters and the schema describes the hardware only.
    [[nodiscard]] bool is_unread(std::string_view section) const {
        return section == model_section && !schema_.is_section(model_section);
    }

    [[nodiscard]] bool is_known(std::string_view path) const {
        return is_unread(path.substr(0, path.find('.'))) || schema_.find(path) != nullptr ||
               schema_.is_section(path);
    }

    const Node& root_;
    SharedText text_;  ///< the text that the nodes' strings point into
    const Schema& schema_;
    std::span<const std::string> only_;  ///< fields and sections to read; empty: all of them
    NodeReader nodes_;
    FieldContext context_{nodes_, schema_, header_keys, only_};
    Loaded loaded_;
};

}  // namespace

Loaded load_text(std::string_view toml, const std::string& file, const Schema& schema) {
    return load_text(SharedText::copy_of(toml), file, schema);
}

Loaded load_text(const SharedText& toml, const std::string& file, const Schema& schema) {
    return load_fields(toml, file, schema, {});
}

Loaded load_fields(const SharedText& toml, const std::string& file, const Schema& schema,
                   std::span<const std::string> only) {
    const Document document = parse_document(toml.view(), file);
    if (document.problem) return {.description = {}, .problems = {*document.problem}};
    Loaded loaded = DescriptionReader(document.root, toml, schema, only).read();
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
