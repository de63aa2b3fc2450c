#include "programs/configs/config_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "programs/configs/config_fields.h"

namespace ridge::programs {
namespace {

constexpr std::size_t longest_config = std::size_t{1} << 20;
constexpr std::size_t most_kinds = 200;
constexpr const char* assumed_family = "sequential";

/// What Python reads and JSON does not have becomes null or blanks: Infinity, NaN, comments.
std::string plain_json(std::string_view text) {
    std::string plain(text);
    const auto blank = [&](std::size_t begin, std::size_t end, std::string_view with) {
        for (std::size_t i = begin; i < end; ++i) {
            if (plain[i] != '\n') plain[i] = i - begin < with.size() ? with[i - begin] : ' ';
        }
    };
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const std::string_view rest = std::string_view(plain).substr(i);
        if (rest.front() == '"') {
            for (++i; i < plain.size() && plain[i] != '"'; ++i) {
                if (plain[i] == '\\') ++i;
            }
        } else if (rest.starts_with("//")) {
            blank(i, std::min(plain.find('\n', i), plain.size()), "");
        } else if (rest.starts_with("/*")) {
            const std::size_t end = plain.find("*/", i + 2);
            blank(i, end == std::string::npos ? plain.size() : end + 2, "");
        } else if (rest.starts_with("-Infinity")) {
            blank(i, i + 9, "null");
        } else if (rest.starts_with("Infinity")) {
            blank(i, i + 8, "null");
        } else if (rest.starts_with("NaN")) {
            blank(i, i + 3, "0  ");
        }
    }
    return plain;
}

std::string text_or_empty(const Json& json, std::string_view name) {
    const Json* value = json.find(name);
    const std::string* text = value == nullptr ? nullptr : value->if_text();
    return text == nullptr ? std::string() : *text;
}

std::vector<std::string> texts_of(const Json* list) {
    std::vector<std::string> texts;
    if (list == nullptr) return texts;
    for (const Json& item : list->items()) {
        if (const std::string* text = item.if_text()) texts.push_back(*text);
    }
    return texts;
}

/// Whether a config of an unknown family has the sizes of a decoder, so that its fields can say the rest.
bool is_sequential(const ConfigSource& source) {
    const std::array sizes{"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"};
    return std::all_of(sizes.begin(), sizes.end(), [&](const char* name) {
        const Json* size = source.find(name);
        return size != nullptr && size->if_number();
    });
}

/// Whether a decoder reads what an encoder made.
bool is_pair(const ConfigSource& source) {
    const Json* pair = source.find("is_encoder_decoder");
    const bool* flag = pair == nullptr ? nullptr : pair->if_flag();
    return flag != nullptr && *flag;
}

std::shared_ptr<const Family> family_for(const ConfigSource& source) {
    const std::vector<std::string> architectures = texts_of(source.outer->find("architectures"));
    const std::string type = text_or_empty(*source.outer, "model_type");
    const std::string inner = text_or_empty(*source.inner, "model_type");
    for (const std::string& each : {type, inner}) {
        if (each.empty()) continue;
        if (auto family = family_of(each, architectures)) return family;
    }
    if (type.empty()) source.fail("model_type", " is missing");
    if (is_pair(source)) {
        source.fail("is_encoder_decoder", ": a decoder that reads an encoder's output, as in '" +
                                              type + "', is not described");
    }
    if (is_sequential(source)) return find_family(assumed_family);
    const std::vector<std::string> known = known_families();
    const std::string close = nearest(type, known);
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    source.fail("model_type", ": unknown family '" + type + "'",
                (close.empty() ? "" : "did you mean '" + close + "'? ") + ("known: " + list));
}

/// Layers with the same values of the family's `kinds` are one kind; kinds are in ascending order.
void set_kinds(Architecture& a, const ConfigSource& source) {
    const Family& family = *a.rules;
    const std::int32_t slot = family.slot_of("layers");
    const std::int64_t layers = slot < 0 ? 0 : a.fields.whole[static_cast<std::size_t>(slot)];
    if (layers < 1 || layers > most_layers) {
        const auto name = family.field_names.find(slot);
        source.fail(name == family.field_names.end() ? "layers" : name->second,
                    " must be 1 to 10000");
    }
    for (const Field& field : family.fields) {
        const std::size_t items = a.fields.lists[static_cast<std::size_t>(field.slot)].size();
        const bool each_layer = field.kind == FieldKind::words || field.kind == FieldKind::letters;
        // Entries behind the last layer are of those for further tokens.
        if (each_layer && items > 0 && static_cast<std::int64_t>(items) < layers) {
            source.fail(field.paths.front(), " must have one entry per layer");
        }
    }
    std::vector<std::int64_t> symbols = a.fields.whole;
    const Scope scope{.symbols = symbols, .fields = &a.fields};
    std::vector<std::vector<std::int64_t>> of_layers;
    std::int64_t& index = symbols[static_cast<std::size_t>(StepSymbol::i)];
    for (index = 0; index < layers; ++index) {
        auto& values = of_layers.emplace_back();
        for (const Definition& each : family.kinds) {
            const std::int64_t value = evaluate(family.nodes, each.value, scope);
            symbols[static_cast<std::size_t>(each.slot)] = value;
            values.push_back(value);
        }
    }
    auto different = of_layers;
    std::sort(different.begin(), different.end());
    different.erase(std::unique(different.begin(), different.end()), different.end());
    if (different.size() > most_kinds) {
        throw InputError("more than 200 different kinds of layers", {.file = source.file});
    }
    for (const auto& values : of_layers) {
        const auto found = std::lower_bound(different.begin(), different.end(), values);
        a.layer_kinds.push_back(static_cast<std::uint8_t>(found - different.begin()));
    }
    for (const auto& values : different) {
        auto& kind = a.kinds.emplace_back(symbols);
        for (std::size_t i = 0; i < values.size(); ++i) {
            kind[static_cast<std::size_t>(family.kinds[i].slot)] = values[i];
        }
    }
}

/// The values that follow from the fields: of the model, of the kinds of layers, of each kind.
void settle(Architecture& a, const ConfigSource& source) {
    const Family& family = *a.rules;
    Scope scope{.symbols = a.fields.whole, .fields = &a.fields};
    for (const Definition& each : family.model) {
        a.fields.whole[static_cast<std::size_t>(each.slot)] =
            evaluate(family.nodes, each.value, scope);
    }
    set_kinds(a, source);
    for (const Definition& each : family.layer) {
        for (auto& kind : a.kinds) {
            scope.symbols = kind;
            scope.kinds = a.kinds;
            kind[static_cast<std::size_t>(each.slot)] = evaluate(family.nodes, each.value, scope);
        }
    }
}

Architecture read(const ConfigSource& source, std::shared_ptr<const Family> family,
                  const Json* quantisation) {
    Architecture a;
    a.rules = family != nullptr ? std::move(family) : family_for(source);
    const std::string type = text_or_empty(*source.outer, "model_type");
    a.family = type.empty() ? a.rules->name : type;
    if (a.rules->name == assumed_family && !type.empty()) {
        a.family += ", an unknown family, read by its fields";
    }
    read_fields(*a.rules, source, a.fields);
    reject_unknown(*a.rules, source);
    settle(a, source);
    a.stored = stored_format(source, quantisation);
    a.name = text_or_empty(*source.outer, "ridge_name");
    if (a.name.empty()) a.name = text_or_empty(*source.outer, "_name_or_path");
    a.source = text_or_empty(*source.outer, "ridge_source");
    try {
        validate(a);
    } catch (const InputError& error) {
        throw InputError(error.message(), {.file = source.file}, error.hint());
    }
    return a;
}

Json json_of(const hardware::Node& node, const std::string& path,
             std::map<std::string, Location>& places) {
    using hardware::NodeKind;
    switch (node.kind) {
        case NodeKind::boolean:
            return node.boolean;
        case NodeKind::integer:
            return node.integer;
        case NodeKind::real:
            return node.real;
        case NodeKind::text:
            return std::string(node.text);
        case NodeKind::array: {
            Json list = Json::array();
            for (const hardware::Node& item : node.children) {
                list.push_back(json_of(item, path, places));
            }
            return list;
        }
        case NodeKind::table: {
            Json table = Json::object();
            for (const hardware::Node& child : node.children) {
                const std::string name(child.key);
                const std::string full = path.empty() ? name : path + "." + name;
                places.emplace(full, child.key_location());
                table[name] = json_of(child, full, places);
            }
            return table;
        }
        case NodeKind::date:
            break;
    }
    return {};
}

}  // namespace

Architecture read_config(std::string_view text, const std::string& file,
                         std::shared_ptr<const Family> family, std::string_view quantisation) {
    if (text.size() > longest_config) {
        throw InputError("a config has at most 1 MiB", {.file = file});
    }
    std::optional<Json> json = Json::parse(text);
    if (!json) json = Json::parse(plain_json(text));
    if (!json || !json->is_object()) throw InputError("not a JSON object", {.file = file});
    const Json* inner = json->find("text_config");
    const bool nested = inner != nullptr && inner->is_object();
    std::optional<Json> other;
    if (!quantisation.empty()) {
        other = Json::parse(plain_json(quantisation));
        if (!other) throw InputError("hf_quant_config.json is not JSON", {.file = file});
    }
    return read({.inner = nested ? inner : &*json, .outer = &*json, .file = file, .places = {}},
                std::move(family), other ? &*other : nullptr);
}

Architecture read_model_toml(std::string_view text, const std::string& file,
                             std::shared_ptr<const Family> family) {
    const hardware::Document document = hardware::parse_document(text, file);
    if (document.problem) {
        throw InputError(document.problem->message, document.problem->location);
    }
    ConfigSource source{.file = file};
    const Json json = json_of(document.root, "", source.places);
    source.inner = &json;
    source.outer = &json;
    if (family == nullptr && json.find("model_type") == nullptr) family = find_family("toml");
    Architecture a = read(source, std::move(family), nullptr);
    if (a.name.empty()) a.name = text_or_empty(json, "name");
    a.source = file;
    return a;
}

}  // namespace ridge::programs
