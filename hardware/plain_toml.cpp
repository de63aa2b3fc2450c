#include "hardware/plain_toml.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "hardware/number_text.h"
#include "hardware/text.h"

namespace ridge::hardware {
namespace {

constexpr std::size_t most_keys = 1000;
constexpr std::size_t usual_keys = 4;  ///< keys of a typical table: value, source, also, note

bool is_plain_text(std::string_view text) {
    std::uint8_t strange = 0;  // combined over all bytes, so that the compiler can vectorise
    for (const char letter : text) {
        const auto byte = static_cast<std::uint8_t>(letter);
        const auto blank = static_cast<std::uint8_t>((byte == '\n') | (byte == '\t'));
        const auto beyond = static_cast<std::uint8_t>((byte < 0x20) | (byte > 0x7e));
        strange = static_cast<std::uint8_t>(strange | (beyond & ~blank));
    }
    return strange == 0;
}

bool is_key_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
}

/// Length of "[+-]?(0|[1-9][0-9]*)" at the start of `text`, without the plus; 0 if there is none.
std::size_t integer_length(std::string_view text) {
    const std::size_t sign = text.starts_with('-') ? 1 : 0;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", sign), text.size());
    if (end == sign || (text[sign] == '0' && end != sign + 1)) return 0;
    return end;
}

/// Whether `text` is a decimal number with a fraction, an exponent or both.
bool is_real(std::string_view text) {
    std::size_t at = integer_length(text);
    if (at == 0) return false;
    const auto digits = [&] {
        const std::size_t first = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return at > first;
    };
    if (at < text.size() && text[at] == '.') {
        ++at;
        if (!digits()) return false;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
        if (!digits()) return false;
    }
    return at == text.size();
}

/// One pass over a text. A function returns false when it meets something that is not plain.
class PlainReader {
  public:
    PlainReader(std::string_view text, const std::string& file)
        : text_(text), kept_(std::make_unique<Document::Kept>(Document::Kept{.file = file})) {
        root_.place = {1, 1};
        root_.file = &kept_->file;
    }

    std::optional<Document> read() {
        Node* table = &root_;
        while (at_ < text_.size()) {
            skip_blanks();
            if (next() == '[') {
                table = read_header();
                if (table == nullptr) return std::nullopt;
            } else if (is_key_letter(next())) {
                if (!read_pair(*table, 0)) return std::nullopt;
            }
            if (!end_line()) return std::nullopt;
        }
        return Document{.root = std::move(root_), .problem = {}, .kept = std::move(kept_)};
    }

  private:
    /// A table or an array of tables that a header names.
    enum class Header { implied, table, array };

    [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\n'; }
    [[nodiscard]] Place here() const {
        return {line_, static_cast<std::int32_t>(at_ - line_start_) + 1};
    }
    bool take(char wanted) {
        if (at_ == text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }
    void skip_blanks() {
        while (next() == ' ' || next() == '\t') ++at_;
    }
    /// Skips blanks, a comment and the end of the line.
    bool end_line() {
        skip_blanks();
        if (next() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
        if (at_ == text_.size()) return true;
        if (!take('\n')) return false;
        ++line_;
        line_start_ = at_;
        return true;
    }
    /// Skips blanks, comments and ends of lines between the values of an array.
    bool skip_lines() {
        skip_blanks();
        while (at_ < text_.size() && (next() == '#' || next() == '\n')) {
            if (!end_line()) return false;
            skip_blanks();
        }
        return true;
    }

    std::string_view read_key() {
        const std::size_t first = at_;
        while (at_ < text_.size() && is_key_letter(text_[at_])) ++at_;
        return text_.substr(first, at_ - first);
    }

    static Node* find(Node& table, std::string_view key) {
        const auto found = std::find_if(table.children.begin(), table.children.end(),
                                        [key](const Node& child) { return child.key == key; });
        return found == table.children.end() ? nullptr : &*found;
    }

    static Node& add_node(Node& parent) {
        Node& child = parent.children.emplace_back();
        child.file = parent.file;
        return child;
    }

    /// Adds a child with this name; null if the table already has it or is full.
    static Node* add_child(Node& table, std::string_view key, const Place& place) {
        if (find(table, key) != nullptr || table.children.size() == most_keys) return nullptr;
        if (table.children.empty()) table.children.reserve(usual_keys);
        Node& child = add_node(table);
        child.key = key;
        child.key_place = place;
        return &child;
    }

    /// [a.b] or [[a.b]]: returns the table that the lines below belong to; null if it is not plain.
    Node* read_header() {
        const Place place = here();
        ++at_;
        const bool array = take('[');
        Node* table = &root_;
        std::string path;
        for (int depth = 0; depth < deepest_nesting; ++depth) {
            skip_blanks();
            const Place key_place = here();
            const std::string_view key = read_key();
            if (key.empty()) return nullptr;
            path += path.empty() ? "" : ".";
            path += key;
            skip_blanks();
            const bool last = !take('.');
            const Header wanted = !last ? Header::implied : array ? Header::array : Header::table;
            table = enter(*table, key, path, key_place, place, wanted);
            if (table == nullptr) return nullptr;
            if (last) return take(']') && (!array || take(']')) ? table : nullptr;
        }
        return nullptr;
    }

    /// Enters the part of a header's path named `key`, which is created if new.
    Node* enter(Node& table, std::string_view key, const std::string& path, const Place& key_place,
                const Place& place, Header wanted) {
        const auto [known, fresh] = headers_.emplace(path, wanted);
        if (fresh) {
            Node* const made = add_child(table, key, key_place);
            if (made == nullptr) return nullptr;
            made->place = place;
            if (wanted != Header::array) return made;
            made->kind = NodeKind::array;
            return add_element(*made, place);
        }
        const bool again = wanted == Header::array && known->second == Header::array;
        const bool through = wanted == Header::implied && known->second != Header::array;
        const bool named = wanted == Header::table && known->second == Header::implied;
        Node* const found = again || through || named ? find(table, key) : nullptr;
        if (found == nullptr) return nullptr;
        if (again) return add_element(*found, place);
        if (named) {
            known->second = Header::table;
            found->place = place;
        }
        return found;
    }

    static Node* add_element(Node& array, const Place& place) {
        Node& element = add_node(array);
        element.place = place;
        return &element;
    }

    bool read_pair(Node& table, int depth) {
        const Place place = here();
        const std::string_view key = read_key();
        skip_blanks();
        if (!take('=')) return false;
        skip_blanks();
        Node* const child = add_child(table, key, place);
        return child != nullptr && read_value(*child, depth);
    }

    bool read_value(Node& node, int depth) {
        node.place = here();
        switch (next()) {
            case '"':
                return read_string(node);
            case '[':
                return read_array(node, depth + 1);
            case '{':
                return read_table(node, depth + 1);
            default:
                return read_word(node);
        }
    }

    bool read_string(Node& node) {
        node.kind = NodeKind::text;
        if (text_.substr(at_).starts_with(R"(""")")) return false;
        ++at_;
        std::string* whole = nullptr;  // used if the string has an escape
        while (true) {
            const std::size_t quote = text_.find('"', at_);
            if (quote == std::string_view::npos) return false;
            const std::string_view inside = text_.substr(at_, quote - at_);
            if (inside.find('\n') != std::string_view::npos) return false;
            const std::size_t escape = inside.find('\\');
            if (whole != nullptr) whole->append(inside.substr(0, escape));
            if (escape == std::string_view::npos) {
                node.text = whole == nullptr ? inside : std::string_view(*whole);
                at_ = quote + 1;
                return true;
            }
            at_ += escape + 1;
            if (next() != '"' && next() != '\\') return false;
            if (whole == nullptr) {
                whole = &kept_->strings.emplace_back(inside.substr(0, escape));
            }
            *whole += next();
            ++at_;
        }
    }

    bool read_array(Node& node, int depth) {
        node.kind = NodeKind::array;
        ++at_;
        if (depth > deepest_nesting || !skip_lines()) return false;
        while (!take(']')) {
            Node& element = add_node(node);
            if (!read_value(element, depth) || !skip_lines()) return false;
            if (take(',')) {
                if (!skip_lines()) return false;
            } else if (next() != ']') {
                return false;
            }
        }
        return true;
    }

    bool read_table(Node& node, int depth) {
        ++at_;
        if (depth > deepest_nesting) return false;
        skip_blanks();
        if (take('}')) return true;
        while (true) {
            if (!is_key_letter(next()) || !read_pair(node, depth)) return false;
            skip_blanks();
            if (take('}')) return true;
            if (!take(',')) return false;
            skip_blanks();
        }
    }

    /// Reads a number, true or false.
    bool read_word(Node& node) {
        const std::size_t end = std::min(text_.find_first_of(" \t\n,]}#", at_), text_.size());
        const std::string_view word = text_.substr(at_, end - at_);
        at_ = end;
        if (word == "true" || word == "false") {
            node.kind = NodeKind::boolean;
            node.boolean = word == "true";
            return true;
        }
        const char* const last = word.data() + word.size();
        if (!word.empty() && integer_length(word) == word.size()) {
            node.kind = NodeKind::integer;
            return std::from_chars(word.data(), last, node.integer).ec == std::errc{};
        }
        if (!is_real(word)) return false;
        node.kind = NodeKind::real;
        const RealText real = read_real(word);
        node.real = real.value;
        return real.error == std::errc{};
    }

    std::string_view text_;
    std::unique_ptr<Document::Kept> kept_;
    std::size_t at_ = 0;
    std::size_t line_start_ = 0;
    std::int32_t line_ = 1;
    Node root_;
    std::map<std::string, Header> headers_;  ///< by path
};

}  // namespace

std::optional<Document> read_plain_toml(std::string_view text, const std::string& file) {
    if (!is_plain_text(text)) return std::nullopt;
    return PlainReader(text, file).read();
}

}  // namespace ridge::hardware
