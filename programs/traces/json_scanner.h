// Reads JSON as a stream of its parts, in memory that does not grow with the file.
//
//   JsonScanner scanner(source);
//   const std::string damage = scanner.run(handler);   // empty: one whole value was read
//   scanner.bytes();                                    // bytes read so far
//
// The handler has `bool start_object()`, `bool start_array()` (false: nested too deeply),
// `void end_object()`, `void end_array()`, `void key(text)`, `void string(text)`,
// `void number(text)`; true, false and null are skipped. A text is valid only during its call.
//
// Method: a window over the source that always contains a text or a number as a whole; the ends of
// texts are found with memchr, and only texts with a backslash are copied. Input after the value is
// not read. Limits: a text longer than `longest_text_of_json` is damage; control characters in
// texts are kept unchanged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/byte_source.h"

namespace ridge::programs {

inline constexpr std::size_t longest_text_of_json = std::size_t{64} << 20U;

/// Replaces the escapes of a JSON text; false if one is invalid.
bool unescape(std::string_view text, std::string& out);

class JsonScanner {
  public:
    explicit JsonScanner(ByteSource& source) : source_(source), buffer_(first_size) {}

    template <class Handler>
    std::string run(Handler& handler) {
        value(handler);
        return damage_;
    }
    [[nodiscard]] std::uint64_t bytes() const { return before_ + at_; }

  private:
    static constexpr std::size_t first_size = std::size_t{1} << 16U;

    /// One value with everything in it; an explicit stack, so that nesting cannot exhaust the call
    /// stack.
    template <class Handler>
    void value(Handler& handler) {
        do {
            if (!begin(handler)) return;
            while (after_value_) {
                if (open_.empty()) return;
                const char next = skip_blanks();
                const bool object = open_.back();
                if (next == ',') {
                    ++at_;
                    after_value_ = false;
                    if (object && !key(handler)) return;
                } else if (next == (object ? '}' : ']')) {
                    ++at_;
                    end(handler);
                } else {
                    fail(object ? "a comma or } is missing" : "a comma or ] is missing");
                    return;
                }
            }
        } while (true);
    }

    /// The start of a value, or the whole value if it contains no other.
    template <class Handler>
    bool begin(Handler& handler) {
        const char next = skip_blanks();
        if (next == '{' || next == '[') {
            const bool object = next == '{';
            ++at_;
            if (!(object ? handler.start_object() : handler.start_array())) {
                return fail("nested too deeply");
            }
            open_.push_back(object);
            after_value_ = false;
            if (skip_blanks() == (object ? '}' : ']')) {
                ++at_;
                end(handler);
                return true;
            }
            return !object || key(handler);
        }
        after_value_ = true;
        std::string_view found;
        if (next == '"') {
            if (!text(found)) return false;
            handler.string(found);
            return true;
        }
        if (next == '-' || (next >= '0' && next <= '9')) {
            number(found);
            handler.number(found);
            return true;
        }
        return word();
    }

    template <class Handler>
    void end(Handler& handler) {
        if (open_.back()) {
            handler.end_object();
        } else {
            handler.end_array();
        }
        open_.pop_back();
        after_value_ = true;
    }

    template <class Handler>
    bool key(Handler& handler) {
        if (skip_blanks() != '"') return fail("a name is missing");
        std::string_view found;
        if (!text(found)) return false;
        handler.key(found);
        if (skip_blanks() != ':') return fail("a colon is missing");
        ++at_;
        return true;
    }

    /// The next character that is not blank; 0 at the end.
    char skip_blanks() {
        while (true) {
            for (; at_ < end_; ++at_) {
                const char letter = buffer_[at_];
                if (letter != ' ' && letter != '\n' && letter != '\r' && letter != '\t') {
                    return letter;
                }
            }
            if (!more(at_)) return '\0';
        }
    }
    bool text(std::string_view& found);
    void number(std::string_view& found);
    bool word();
    /// Reads more, keeping the data from `from` on, which moves to the front; false at the end.
    bool more(std::size_t& from);
    bool fail(const char* what);

    ByteSource& source_;
    std::vector<char> buffer_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    std::uint64_t before_ = 0;  ///< bytes before the window
    std::vector<bool> open_;    ///< for each open bracket: whether it is an object
    bool after_value_ = false;
    std::string unescaped_;
    std::string damage_;
};

}  // namespace ridge::programs
