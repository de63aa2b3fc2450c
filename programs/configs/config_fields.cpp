#include "programs/configs/config_fields.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "hardware/error.h"
#include "hardware/nearest.h"

namespace ridge::programs {
namespace {

const Json* find_in(const Json* json, const std::string& path) {
    for (std::size_t begin = 0; json != nullptr;) {
        const std::size_t end = path.find('.', begin);
        json = json->find(path.substr(begin, end - begin));
        if (end == std::string::npos) break;
        begin = end + 1;
    }
    return json == nullptr || json->is_null() ? nullptr : json;
}

class FieldReader {
  public:
    FieldReader(const Family& family, const ConfigSource& source, SymbolValues& values)
        : family_(family), source_(source), values_(values) {}

    void read(const Field& field) {
        if (!field.paths.empty() && field.paths.front().find("[]") != std::string::npos) {
            return of_items(field, field.paths.front());
        }
        const Json* json = nullptr;
        std::string path = field.paths.empty() ? std::string() : field.paths.front();
        for (const std::string& each : field.paths) {
            json = source_.find(each);
            if (json == nullptr) continue;
            path = each;
            break;
        }
        const auto slot = static_cast<std::size_t>(field.slot);
        values_.given[slot] = json != nullptr ? 1 : 0;
        if (json == nullptr) return use_default(field, path);
        switch (field.kind) {
            case FieldKind::count:
                values_.whole[slot] = count(*json, path);
                return;
            case FieldKind::flag:
                if (const bool* flag = json->if_flag()) {
                    values_.whole[slot] = *flag ? 1 : 0;
                    return;
                }
                source_.fail(path, " must be true or false");
            case FieldKind::number:
                return number(field, *json, path);
            case FieldKind::word:
                values_.whole[slot] = word(field, *json, path);
                return;
            case FieldKind::ending:
                return ending(field, *json, path);
            case FieldKind::members:
                if (!json->is_object()) source_.fail(path, " must be an object");
                values_.whole[slot] = static_cast<std::int64_t>(json->members().size());
                return;
            case FieldKind::counts:
            case FieldKind::thousandths:
            case FieldKind::words:
            case FieldKind::letters:
                return list(field, *json, path);
        }
    }

  private:
    std::int64_t count(const Json& json, const std::string& path) const {
        const auto whole = json.if_whole();
        if (!whole) source_.fail(path, " must be a whole number");
        if (*whole < 0 || *whole > largest_count) source_.fail(path, " must be 0 to 10^12");
        return *whole;
    }
    void number(const Field& field, const Json& json, const std::string& path) {
        const auto value = json.if_number();
        if (!value) source_.fail(path, " must be a number");
        values_.shares[static_cast<std::size_t>(field.slot)] = *value;
        values_.whole[static_cast<std::size_t>(field.slot)] = *value > 0.0 ? 1 : 0;
    }
    std::int64_t word(const Field& field, const Json& json, const std::string& path) const {
        const std::string* text = json.if_text();
        if (text == nullptr) source_.fail(path, " must be a string");
        const std::int64_t found = family_.word_of(*text);
        const auto& allowed = field.words;
        if (found >= 0 && (allowed.empty() ||
                           std::find(allowed.begin(), allowed.end(), found) != allowed.end())) {
            return found;
        }
        std::string list;
        for (const std::int64_t each : allowed) {
            list += (list.empty() ? "" : ", ") + family_.word_text(each);
        }
        source_.fail(path, ": '" + *text + "' is not known",
                     list.empty() ? list : "known: " + list);
    }
    /// The first word is the default, for texts that end otherwise.
    void ending(const Field& field, const Json& json, const std::string& path) {
        const bool listed = json.is_array() && !json.items().empty();
        const std::string* text = listed ? json.items().front().if_text() : json.if_text();
        if (text == nullptr) return use_default(field, path);
        for (const std::int64_t each : field.words) {
            if (!text->ends_with(family_.word_text(each))) continue;
            values_.whole[static_cast<std::size_t>(field.slot)] = each;
            return;
        }
        use_default(field, path);
    }
    void list(const Field& field, const Json& json, const std::string& path) {
        auto& items = values_.lists[static_cast<std::size_t>(field.slot)];
        // One number may stand for a list of it.
        if (field.kind == FieldKind::counts && json.if_whole()) {
            items.push_back(count(json, path));
            return;
        }
        if (const std::string* text = json.if_text();
            text != nullptr && field.kind == FieldKind::letters) {
            for (const char letter : *text) {
                items.push_back(word(field, Json(std::string(1, letter)), path));
            }
            return;
        }
        // "3,4,5" is a list too.
        if (const std::string* text = json.if_text();
            text != nullptr && field.kind == FieldKind::counts &&
            text->find_first_not_of("0123456789, ") == std::string::npos) {
            const std::optional<Json> numbers = Json::parse("[" + *text + "]");
            if (numbers) return list(field, *numbers, path);
        }
        if (!json.is_array()) source_.fail(path, " must be a list");
        for (const Json& item : json.items()) {
            items.push_back(field.kind == FieldKind::counts ? count(item, path)
                                                            : word(field, item, path));
        }
    }
    /// One number of each object of a list, "blocks[].size"; null and false are 0.
    void of_items(const Field& field, const std::string& path) {
        const std::size_t mark = path.find("[]");
        const Json* list = source_.find(path.substr(0, mark));
        if (list == nullptr || !list->is_array()) source_.fail(path, " is missing");
        values_.given[static_cast<std::size_t>(field.slot)] = 1;
        for (const Json& item : list->items()) {
            const Json* json = find_in(&item, path.substr(mark + 3));
            const bool* const flag = json == nullptr ? nullptr : json->if_flag();
            std::int64_t value = flag != nullptr && *flag ? 1 : 0;
            if (json != nullptr && flag == nullptr) {
                value = field.kind == FieldKind::thousandths ? thousandths(*json, path)
                                                             : count(*json, path);
            }
            values_.lists[static_cast<std::size_t>(field.slot)].push_back(value);
        }
    }
    std::int64_t thousandths(const Json& json, const std::string& path) const {
        constexpr double most = 1e6;
        const auto number = json.if_number();
        if (!number || !(*number >= 0.0 && *number <= most)) {
            source_.fail(path, " must be a number of 0 to 10^6");
        }
        return static_cast<std::int64_t>(*number * 1000.0 + 0.5);
    }
    void use_default(const Field& field, const std::string& path) {
        const auto slot = static_cast<std::size_t>(field.slot);
        if (field.kind == FieldKind::number && field.optional) {
            values_.shares[slot] = field.share;
            values_.whole[slot] = field.share > 0.0 ? 1 : 0;
            return;
        }
        if (field.kind >= FieldKind::words || field.kind == FieldKind::counts ||
            field.kind == FieldKind::thousandths) {
            return;
        }
        if (field.otherwise < 0) source_.fail(path, " is missing");
        const Scope scope{.symbols = values_.whole, .fields = &values_};
        const ExpressionNode& node = family_.nodes[static_cast<std::size_t>(field.otherwise)];
        if (node.kind == ExpressionKind::exact) {
            const std::int64_t whole = evaluate(family_.nodes, node.a, scope);
            const std::int64_t parts = evaluate(family_.nodes, node.b, scope);
            if (parts < 1 || whole % parts != 0) {
                source_.fail(name_of(node.b),
                             " must divide " + name_of(node.a) + ", " + std::to_string(whole));
            }
        }
        values_.whole[slot] = evaluate(family_.nodes, field.otherwise, scope);
    }
    [[nodiscard]] std::string name_of(std::int32_t root) const {
        const ExpressionNode& node = family_.nodes[static_cast<std::size_t>(root)];
        const auto found = node.kind == ExpressionKind::symbol
                               ? family_.field_names.find(static_cast<std::int32_t>(node.value))
                               : family_.field_names.end();
        return found == family_.field_names.end() ? "a size" : found->second;
    }

    const Family& family_;
    const ConfigSource& source_;
    SymbolValues& values_;
};

bool is_harmless(const Json& value) {
    const auto number = value.if_number();
    const bool* const flag = value.if_flag();
    const std::string* const text = value.if_text();
    return value.is_null() || (number && *number == 0.0) || (flag != nullptr && !*flag) ||
           (text != nullptr && text->empty()) || (value.is_array() && value.items().empty()) ||
           (value.is_object() && value.members().empty());
}

/// Names that are known: those of fields, of the objects that hold them, and the ignored ones.
class KnownFields {
  public:
    explicit KnownFields(const Family& family) : family_(family) {
        for (const Field& field : family.fields) {
            for (const std::string& path : field.paths) {
                names_.push_back(path);
                for (std::size_t dot = path.find('.'); dot != std::string::npos;
                     dot = path.find('.', dot + 1)) {
                    objects_.push_back(path.substr(0, dot));
                }
            }
        }
    }
    [[nodiscard]] bool is_object(const std::string& name) const {
        return std::find(objects_.begin(), objects_.end(), name) != objects_.end();
    }
    [[nodiscard]] bool ignored(const std::string& name) const {
        return std::any_of(family_.ignored.begin(), family_.ignored.end(),
                           [&](const std::string& each) { return matches_pattern(each, name); });
    }
    [[nodiscard]] bool has(const std::string& name) const {
        return std::find(names_.begin(), names_.end(), name) != names_.end();
    }
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  private:
    const Family& family_;
    std::vector<std::string> names_;
    std::vector<std::string> objects_;
};

void reject_in(const KnownFields& known, const ConfigSource& source, const Json& json,
               const std::string& prefix) {
    for (const JsonMember& member : json.members()) {
        const std::string name = prefix + member.name;
        if (is_harmless(member.value) || known.has(name) || known.ignored(name)) continue;
        if (known.is_object(name) && member.value.is_object()) {
            reject_in(known, source, member.value, name + ".");
            continue;
        }
        const std::string close = nearest(name, known.names());
        source.fail(name, ": this family does not know the field, and it may change the cost",
                    close.empty() ? close : "did you mean '" + close + "'?");
    }
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;
    std::size_t from = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

const Json* ConfigSource::find(const std::string& path) const {
    const Json* found = find_in(inner, path);
    return found != nullptr || inner == outer ? found : find_in(outer, path);
}

void ConfigSource::fail(const std::string& field, const std::string& what, std::string hint) const {
    const auto place = places.find(field);
    throw InputError(field + what, place == places.end() ? Location{.file = file} : place->second,
                     std::move(hint));
}

void read_fields(const Family& family, const ConfigSource& source, SymbolValues& values) {
    const std::size_t count = family.symbols.size();
    values.whole.assign(count, 0);
    values.shares.assign(count, 0.0);
    values.lists.assign(count, {});
    values.given.assign(count, 0);
    values.whole[static_cast<std::size_t>(StepSymbol::tp)] = 1;
    values.whole[static_cast<std::size_t>(StepSymbol::ep)] = 1;
    FieldReader reader(family, source, values);
    for (const Field& field : family.fields) reader.read(field);
}

void reject_unknown(const Family& family, const ConfigSource& source) {
    const KnownFields known(family);
    reject_in(known, source, *source.inner, "");
    if (source.inner != source.outer) reject_in(known, source, *source.outer, "");
}

}  // namespace ridge::programs
