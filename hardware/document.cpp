#include "hardware/document.h"

#include <algorithm>
#include <iterator>
#include <string>

#include <toml++/toml.h>

#include "hardware/input_file.h"

namespace ridge::hardware {
namespace {

constexpr std::size_t largest_text = std::size_t{1} << 20;
constexpr int deepest_nesting = 32;

Location place(const std::string& file, const toml::source_position& position) {
    return {.file = file, .line = position.line, .column = position.column};
}

/// Where brackets or dotted keys nest deeper than any description does; the TOML library recurses
/// over them. Quotes are not followed, so a string with 32 brackets in a row is refused too.
std::optional<Location> too_deep(std::string_view text, const std::string& file) {
    int open = 0;
    int dots = 0;
    Location here{.file = file, .line = 1, .column = 1};
    for (const char letter : text) {
        if (letter == '[' || letter == '{') {
            ++open;
            dots = 0;
        } else if (letter == ']' || letter == '}') {
            open = std::max(0, open - 1);
            dots = 0;
        } else if (letter == '.') {
            ++dots;
        } else if (letter == '=' || letter == ',' || letter == '\n' || letter == ' ') {
            if (letter != ' ') dots = 0;
        }
        if (open > deepest_nesting || dots > deepest_nesting) return here;
        ++here.column;
        if (letter == '\n') {
            ++here.line;
            here.column = 1;
        }
    }
    return std::nullopt;
}

/// Without the CR of each CRLF, which the TOML library does not take everywhere, nor one at the end,
/// where a header was cut before its LF.
std::string with_plain_line_ends(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool ends_line = i + 1 == text.size() || text[i + 1] == '\n';
        if (text[i] != '\r' || !ends_line) plain += text[i];
    }
    return plain;
}

Node convert(const toml::node& source, const std::string& file) {
    Node node;
    node.location = place(file, source.source().begin);
    if (const auto* table = source.as_table()) {
        for (const auto& [key, value] : *table) {
            Node child = convert(value, file);
            child.key = std::string(key.str());
            child.key_location = place(file, key.source().begin);
            node.children.push_back(std::move(child));
        }
        std::stable_sort(node.children.begin(), node.children.end(),
                         [](const Node& a, const Node& b) {
                             const Location& x = a.key_location;
                             const Location& y = b.key_location;
                             return x.line != y.line ? x.line < y.line : x.column < y.column;
                         });
    } else if (const auto* array = source.as_array()) {
        node.kind = NodeKind::array;
        for (const toml::node& value : *array) node.children.push_back(convert(value, file));
    } else if (const auto* text = source.as_string()) {
        node.kind = NodeKind::text;
        node.text = text->get();
    } else if (const auto* integer = source.as_integer()) {
        node.kind = NodeKind::integer;
        node.integer = integer->get();
    } else if (const auto* real = source.as_floating_point()) {
        node.kind = NodeKind::real;
        node.real = real->get();
    } else if (const auto* boolean = source.as_boolean()) {
        node.kind = NodeKind::boolean;
        node.boolean = boolean->get();
    } else {
        node.kind = NodeKind::date;
    }
    return node;
}

}  // namespace

std::string to_string(const Problem& problem) {
    const std::string place_text = to_string(problem.location);
    return place_text.empty() ? problem.message : place_text + ": " + problem.message;
}

std::string_view to_string(NodeKind kind) {
    switch (kind) {
        case NodeKind::table:
            return "a table";
        case NodeKind::array:
            return "an array";
        case NodeKind::text:
            return "a string";
        case NodeKind::integer:
            return "an integer";
        case NodeKind::real:
            return "a floating-point number";
        case NodeKind::boolean:
            return "a boolean";
        case NodeKind::date:
            return "a date or time";
    }
    contract_violated("the kind of node is known", __FILE__, __LINE__);
}

const Node* Node::child(std::string_view name) const {
    const auto found = std::find_if(children.begin(), children.end(),
                                    [name](const Node& node) { return node.key == name; });
    return found == children.end() ? nullptr : &*found;
}

Document parse_document(std::string_view text, const std::string& file) {
    Document document;
    if (text.size() > largest_text) {
        document.problem = {{.file = file}, "the file is larger than 1 MiB"};
        return document;
    }
    if (const auto deep = too_deep(text, file)) {
        document.problem = {*deep, "nested more than 32 levels deep"};
        return document;
    }
    try {
        const toml::table table = toml::parse(with_plain_line_ends(text), file);
        document.root = convert(table, file);
    } catch (const toml::parse_error& error) {
        document.problem = {place(file, error.source().begin), std::string(error.description())};
    }
    return document;
}

std::string read_text_file(const std::string& path) {
    return read_input(path, largest_text);
}

}  // namespace ridge::hardware
