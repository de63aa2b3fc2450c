#include "hardware/document.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "hardware/input_file.h"
#include "hardware/plain_toml.h"

namespace ridge::hardware {

/// What toml++ asserts of a text is wrong: it has no message for this one, as for `[=a]`.
struct TomlAssertion {};
[[noreturn]] void assertion_of_toml_failed() {
    throw TomlAssertion{};
}

}  // namespace ridge::hardware

// toml++ is compiled here, with assertions that throw: those of the distribution's library end the
// program, or are promises to the optimizer.
#undef TOML_SHARED_LIB
#undef TOML_HEADER_ONLY
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) \
    ((expression) ? static_cast<void>(0) : ridge::hardware::assertion_of_toml_failed())
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace ridge::hardware {
namespace {

constexpr std::size_t largest_text = std::size_t{1} << 20;

Location place(const std::string& file, const toml::source_position& position) {
    return {.file = file, .line = position.line, .column = position.column};
}

/// The place where brackets or dotted keys nest more than 32 levels deep, since the TOML library
/// recurses over them. Quotes are ignored, so a string with 32 opening brackets in a row is refused
/// too.
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

/// The text without the CR of each CRLF, which the TOML library does not accept everywhere, and
/// without a CR at the end, where a header may have been cut before its LF.
std::string with_plain_line_ends(std::string_view text) {
    std::string plain;
    if (text.find('\r') == std::string_view::npos) return plain.assign(text);
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool ends_line = i + 1 == text.size() || text[i + 1] == '\n';
        if (text[i] != '\r' || !ends_line) plain += text[i];
    }
    return plain;
}

bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char letter) { return letter >= ' ' && letter <= '~'; });
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char letter) { return static_cast<unsigned char>(letter) < 128; });
}

/// A long string that was kept from the TOML library, and its place.
struct LongText {
    std::int64_t line = 0;    ///< line of its opening quote
    std::int64_t column = 0;  ///< column of its opening quote
    std::string_view text;
};

/// Where a string value of plain letters begins that is long enough to be put aside; npos if the
/// line has none. Only when everything before it can only be keys and basic strings without
/// escapes.
std::size_t long_string_at(std::string_view line, std::size_t from) {
    constexpr std::size_t long_enough = 64;
    while (true) {
        const std::size_t open = line.find_first_of("\"'\\#", from);
        if (open == std::string_view::npos || line[open] != '"') return std::string_view::npos;
        const std::size_t end = line.find_first_of("\"\\", open + 1);
        if (end == std::string_view::npos || line[end] != '"') return std::string_view::npos;
        const std::string_view inside = line.substr(open + 1, end - open - 1);
        const std::size_t before = line.substr(0, open).find_last_not_of(" \t");
        const bool value = before != std::string_view::npos && line[before] == '=';
        if (value && inside.size() >= long_enough && is_plain(inside)) return open;
        from = end + 1;
    }
}

/// A text with its long strings emptied, and those strings in order. The TOML library takes about
/// 100 ns per character of a string.
struct Shortened {
    std::string text;
    std::vector<LongText> cut;

    explicit Shortened(std::string_view whole) {
        text.reserve(whole.size());
        const bool lines_end_strings = whole.find(R"(""")") == std::string_view::npos &&
                                       whole.find("'''") == std::string_view::npos;
        std::int64_t number = 0;
        while (!whole.empty()) {
            ++number;
            const std::size_t end = std::min(whole.find('\n'), whole.size() - 1) + 1;
            add_line(whole.substr(0, end), lines_end_strings ? number : 0);
            whole.remove_prefix(end);
        }
    }

    /// Converts a place in the shortened text to the place in the whole text.
    [[nodiscard]] Location at(Location place) const {
        const std::int64_t column = place.column;
        for (const LongText* each = of_line(place.line); each != cut.data() + cut.size(); ++each) {
            if (each->line != place.line) break;
            if (column > each->column - removed_before(*each)) {
                place.column += static_cast<std::int64_t>(each->text.size());
            }
        }
        return place;
    }

    /// The string that was cut at `place` of the whole text; null if none was.
    [[nodiscard]] const LongText* find(const Location& place) const {
        const LongText* const from = of_line(place.line);
        const LongText* const end = cut.data() + cut.size();
        const LongText* const found = std::find_if(from, end, [&](const LongText& each) {
            return each.line == place.line && each.column == place.column;
        });
        return found == end ? nullptr : found;
    }

  private:
    [[nodiscard]] const LongText* of_line(std::int64_t line) const {
        return std::lower_bound(
            cut.data(), cut.data() + cut.size(), line,
            [](const LongText& each, std::int64_t wanted) { return each.line < wanted; });
    }

    /// Number of characters cut from the line before this string.
    [[nodiscard]] std::int64_t removed_before(const LongText& one) const {
        std::int64_t removed = 0;
        for (const LongText* each = of_line(one.line); each != &one; ++each) {
            removed += static_cast<std::int64_t>(each->text.size());
        }
        return removed;
    }

    /// Adds a line; with number 0 nothing is cut.
    void add_line(std::string_view line, std::int64_t number) {
        std::size_t from = 0;
        while (number > 0 && is_ascii(line)) {  // columns count characters, not bytes
            const std::size_t open = long_string_at(line, from);
            if (open == std::string_view::npos) break;
            const std::size_t end = line.find('"', open + 1);
            cut.push_back({number, static_cast<std::int64_t>(open) + 1,
                           line.substr(open + 1, end - open - 1)});
            text.append(line.substr(from, open + 1 - from)).push_back('"');
            from = end + 1;
        }
        text.append(line.substr(from));
    }
};

Place place_of(const Location& location) {
    return {static_cast<std::int32_t>(location.line), static_cast<std::int32_t>(location.column)};
}

/// Converts the library's nodes to nodes; the document keeps their strings.
class Converter {
  public:
    Converter(const Shortened& shortened, Document::Kept& kept)
        : shortened_(shortened), kept_(kept) {}

    [[nodiscard]] Node convert(const toml::node& source) const {
        Node node;
        node.file = &kept_.file;
        const Location location = shortened_.at(place(kept_.file, source.source().begin));
        node.place = place_of(location);
        if (const auto* table = source.as_table()) {
            convert_children(*table, node);
        } else if (const auto* array = source.as_array()) {
            node.kind = NodeKind::array;
            for (const toml::node& value : *array) node.children.push_back(convert(value));
        } else if (const auto* text = source.as_string()) {
            node.kind = NodeKind::text;
            const LongText* const whole = shortened_.find(location);
            node.text = whole == nullptr ? keep(text->get()) : keep(std::string(whole->text));
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

  private:
    [[nodiscard]] std::string_view keep(std::string text) const {
        return kept_.strings.emplace_back(std::move(text));
    }

    /// Converts the children in the order of the file.
    void convert_children(const toml::table& table, Node& node) const {
        for (const auto& [key, value] : table) {
            Node child = convert(value);
            child.key = keep(std::string(key.str()));
            child.key_place = place_of(shortened_.at(place(kept_.file, key.source().begin)));
            node.children.push_back(std::move(child));
        }
        std::stable_sort(node.children.begin(), node.children.end(),
                         [](const Node& a, const Node& b) {
                             const Place& x = a.key_place;
                             const Place& y = b.key_place;
                             return x.line != y.line ? x.line < y.line : x.column < y.column;
                         });
    }

    const Shortened& shortened_;
    Document::Kept& kept_;
};

/// The problem of a text over which the TOML library asserts: the last letter that it read, which is
/// that of the shortest beginning of the text over which it asserts.
Problem problem_of_assertion(std::string_view text, const std::string& file) {
    const auto asserts = [&](std::size_t length) {
        try {
            (void)toml::parse(text.substr(0, length), file);
        } catch (const TomlAssertion&) {
            return true;
        } catch (const toml::parse_error&) {
            return false;
        }
        return false;
    };
    std::size_t fine = 0;
    std::size_t wrong = text.size();
    while (wrong - fine > 1) {
        const std::size_t middle = fine + (wrong - fine) / 2;
        (asserts(middle) ? wrong : fine) = middle;
    }
    const std::string_view before = text.substr(0, wrong - 1);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto column = static_cast<std::int64_t>(before.size() - before.rfind('\n'));
    return {{.file = file, .line = line, .column = column}, "unexpected character in TOML"};
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

Location Node::at(const Place& where) const {
    return {.file = file == nullptr ? std::string() : *file,
            .line = where.line,
            .column = where.column};
}

Document parse_document(std::string_view text, const std::string& file) {
    if (text.size() <= largest_text) {
        if (auto document = read_plain_toml(text, file)) return *std::move(document);
    }
    return parse_by_library(text, file);
}

Document parse_by_library(std::string_view text, const std::string& file) {
    Document document;
    document.kept = std::make_unique<Document::Kept>(Document::Kept{.file = file});
    document.root.file = &document.kept->file;
    if (text.size() > largest_text) {
        document.problem = {{.file = file}, "the file is larger than 1 MiB"};
        return document;
    }
    const std::string plain = with_plain_line_ends(text);
    const Shortened shortened(plain);
    if (const auto deep = too_deep(shortened.text, file)) {
        document.problem = {shortened.at(*deep), "nested more than 32 levels deep"};
        return document;
    }
    try {
        const toml::table table = toml::parse(shortened.text, file);
        document.root = Converter(shortened, *document.kept).convert(table);
    } catch (const toml::parse_error& error) {
        document.problem = {shortened.at(place(file, error.source().begin)),
                            std::string(error.description())};
    } catch (const TomlAssertion&) {
        document.problem = problem_of_assertion(shortened.text, file);
        document.problem->location = shortened.at(document.problem->location);
    }
    return document;
}

std::string read_text_file(const std::string& path) {
    return read_input(path, largest_text);
}

}  // namespace ridge::hardware
