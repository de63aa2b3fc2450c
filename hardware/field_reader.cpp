#include "hardware/field_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "hardware/nearest.h"
#include "hardware/units.h"

namespace ridge::hardware {
namespace {

class FieldReader {
  public:
    FieldReader(const FieldContext& context, const SharedText& text, Description& into)
        : context_(context), text_(text), into_(into) {}

    void read(const Node& section) {
        path_.assign(section.key);
        read_section(section);
    }

  private:
    /// Reads the node at `path_`.
    void read_section(const Node& node) {
        if (!is_wanted()) return;
        if (const Field* field = context_.schema.find(path_)) {
            read_datum(node, *field);
        } else if (!context_.schema.is_section(path_) || node.kind != NodeKind::table) {
            report_unknown(context_, node, path_);
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
            context_.nodes.report(table.location(), path + " has no source");
            return {};
        }
        std::vector<std::string> keys = context_.nodes.strings_of(*node, "source");
        for (const std::string& key : keys) {
            if (into_.sources.contains(key)) continue;
            context_.nodes.report(node->location(),
                                  "source \"" + key + "\" is not declared in [sources]");
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
            context_.nodes.report(node.location(),
                                  path + " must be { value = ..., source = \"...\" }");
            return;
        }
        if (parts.others)
            context_.nodes.reject_other_keys(node, {"value", "source", "also", "note"}, path);
        Datum datum{.value = 0.0,
                    .text = {},
                    .sources = read_source_keys(node, parts.source, path),
                    .disputes = {},
                    .note = {},
                    .location = parts.value->location(),
                    .inherited = false};
        if (parts.note != nullptr)
            datum.note = text_.part(context_.nodes.string_of(*parts.note, "note"));
        if (parts.also != nullptr) datum.disputes = read_disputes(*parts.also, field);
        if (read_value(*parts.value, field, datum)) {
            into_.data.insert_or_assign(path, std::move(datum));
        }
    }

    std::vector<Dispute> read_disputes(const Node& list, const Field& field) {
        std::vector<Dispute> disputes;
        if (list.kind != NodeKind::array) {
            context_.nodes.report(list.location(),
                                  "also must be an array of { value = ..., source = \"...\" }");
            return disputes;
        }
        for (const Node& entry : list.children) {
            const Node* value = entry.kind == NodeKind::table ? entry.child("value") : nullptr;
            if (value == nullptr) {
                context_.nodes.report(entry.location(),
                                      "a disputed value must be { value = ..., source = \"...\" }");
                continue;
            }
            context_.nodes.reject_other_keys(entry, {"value", "source"}, "a disputed value");
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
                datum.text = text_.part(context_.nodes.string_of(node, field.path));
                datum.value = InWords{};
                return !datum.text.empty();
        }
        contract_violated("the kind of value is known", __FILE__, __LINE__);
    }

    bool read_quantity(const Node& node, const Field& field, Datum& datum) {
        const std::string& path = field.path;
        if (node.kind != NodeKind::text) {
            context_.nodes.report(node.location(),
                                  path + " must be a string with a unit such as \"" +
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
            context_.nodes.report(node.location(),
                                  path + ": " + error.message() +
                                      (error.hint().empty() ? "" : " (" + error.hint() + ")"));
            return false;
        }
    }

    bool is_sensible(const Node& node, const Field& field, double value) {
        if (value > 0.0 && field.range.contains(value)) return true;
        context_.nodes.report(
            node.location(),
            field.path + (value == 0.0 ? " is zero; leave out a field that the device does not have"
                          : value < 0.0 ? " is negative"
                                        : " must lie in the range " + range_text(field)));
        return false;
    }

    bool read_count(const Node& node, const Field& field, Datum& datum) {
        const std::string& path = field.path;
        if (node.kind != NodeKind::integer) {
            context_.nodes.report(node.location(), path + " must be an integer, not " +
                                                       std::string(to_string(node.kind)));
            return false;
        }
        if (!is_sensible(node, field, static_cast<double>(node.integer))) return false;
        datum.value = node.integer;
        return true;
    }

    bool read_number(const Node& node, const Field& field, Datum& datum) {
        const std::string& path = field.path;
        if (node.kind != NodeKind::integer && node.kind != NodeKind::real) {
            context_.nodes.report(node.location(), path + " must be a number, not " +
                                                       std::string(to_string(node.kind)));
            return false;
        }
        const double value =
            node.kind == NodeKind::integer ? static_cast<double>(node.integer) : node.real;
        if (!std::isfinite(value)) {
            context_.nodes.report(node.location(), path + " must be finite");
            return false;
        }
        datum.value = value;
        return is_sensible(node, field, value);
    }

    /// Whether the node at `path_` is to be read, or holds what is.
    [[nodiscard]] bool is_wanted() const {
        const auto& only = context_.only;
        return only.empty() ||
               std::any_of(only.begin(), only.end(), [this](const std::string& path) {
                   return lies_in(path_, path) || lies_in(path, path_);
               });
    }

    const FieldContext& context_;
    const SharedText& text_;
    Description& into_;
    std::string path_;  ///< path of the node that is being read
};

}  // namespace

void report_unknown(const FieldContext& context, const Node& node, const std::string& path) {
    std::string near_key = context.schema.nearest(path);
    if (path.find('.') == std::string::npos) {
        const std::vector<std::string> keys(context.header_keys.begin(), context.header_keys.end());
        const std::string header = nearest(path, keys);
        if (!header.empty()) near_key = header;
    }
    context.nodes.report(node.key.empty() ? node.location() : node.key_location(),
                         "unknown key \"" + path + "\"" +
                             (near_key.empty() ? "" : ", did you mean \"" + near_key + "\"?"));
}

bool lies_in(std::string_view field, std::string_view path) {
    return field.starts_with(path) && (field.size() == path.size() || field[path.size()] == '.');
}

void read_fields(const FieldContext& context, const SharedText& text, const Node& section,
                 Description& into) {
    FieldReader(context, text, into).read(section);
}

}  // namespace ridge::hardware
