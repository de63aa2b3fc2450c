#include "programs/traces/json_scanner.h"

#include <charconv>
#include <optional>

namespace ridge::programs {
namespace {

std::optional<std::uint32_t> hexadecimal(std::string_view text) {
    if (text.size() < 4) return {};
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + 4, value, 16);
    if (error != std::errc{} || end != text.data() + 4) return {};
    return value;
}

void append_utf8(std::string& out, std::uint32_t code) {
    const auto add = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
        add(code);
    } else if (code < 0x800) {
        add(0xC0 | (code >> 6U));
        add(0x80 | (code & 0x3FU));
    } else if (code < 0x10000) {
        add(0xE0 | (code >> 12U));
        add(0x80 | ((code >> 6U) & 0x3FU));
        add(0x80 | (code & 0x3FU));
    } else {
        add(0xF0 | (code >> 18U));
        add(0x80 | ((code >> 12U) & 0x3FU));
        add(0x80 | ((code >> 6U) & 0x3FU));
        add(0x80 | (code & 0x3FU));
    }
}

/// Decodes the escape (or pair of escapes) that `text` starts with after "\u"; returns the number
/// of characters used.
std::size_t unicode(std::string_view text, std::string& out) {
    const auto high = hexadecimal(text);
    if (!high) return 0;
    if (*high < 0xD800 || *high > 0xDFFF) {
        append_utf8(out, *high);
        return 4;
    }
    const auto low = text.substr(4).starts_with("\\u") ? hexadecimal(text.substr(6)) : std::nullopt;
    if (*high > 0xDBFF || !low || *low < 0xDC00 || *low > 0xDFFF) return 0;
    append_utf8(out, 0x10000 + ((*high - 0xD800) << 10U) + (*low - 0xDC00));
    return 10;
}

}  // namespace

bool unescape(std::string_view text, std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    out.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            out += text[i];
            continue;
        }
        if (++i == text.size()) return false;
        if (text[i] == 'u') {
            const std::size_t taken = unicode(text.substr(i + 1), out);
            if (taken == 0) return false;
            i += taken;
            continue;
        }
        const std::size_t place = letters.find(text[i]);
        if (place == std::string_view::npos) return false;
        out += meanings[place];
    }
    return true;
}

bool JsonScanner::text(std::string_view& found) {
    std::size_t start = at_ + 1;
    std::size_t from = start;
    bool escaped = false;
    while (true) {
        const char* const data = buffer_.data();
        const auto* const quote =
            static_cast<const char*>(std::memchr(data + from, '"', end_ - from));
        const std::size_t stop = quote == nullptr ? end_ : static_cast<std::size_t>(quote - data);
        // A quote after an odd number of backslashes belongs to the text.
        std::size_t slashes = 0;
        while (stop - slashes > start && data[stop - slashes - 1] == '\\') ++slashes;
        escaped =
            escaped || (stop > from && std::memchr(data + from, '\\', stop - from) != nullptr);
        if (quote != nullptr && slashes % 2 == 0) {
            found = {data + start, stop - start};
            at_ = stop + 1;
            if (!escaped) return true;
            if (!unescape(found, unescaped_)) return fail("an invalid escape sequence");
            found = unescaped_;
            return true;
        }
        if (quote != nullptr) {
            from = stop + 1;
            continue;
        }
        if (end_ - start > longest_text_of_json) return fail("a string is longer than 64 MiB");
        const std::size_t had = end_ - start;
        if (!more(start)) {
            at_ = end_;
            return fail("a string is not closed");
        }
        from = start + had;
    }
}

void JsonScanner::number(std::string_view& found) {
    std::size_t start = at_;
    while (true) {
        for (; at_ < end_; ++at_) {
            const char letter = buffer_[at_];
            const bool part = (letter >= '0' && letter <= '9') || letter == '.' || letter == '-' ||
                              letter == '+' || letter == 'e' || letter == 'E';
            if (!part) break;
        }
        const std::size_t length = at_ - start;
        if (at_ < end_ || length > longest_text_of_json || !more(start)) {
            found = {buffer_.data() + start, length};
            return;
        }
        at_ = start + length;
    }
}

bool JsonScanner::word() {
    for (const std::string_view expected : {"true", "false", "null"}) {
        while (end_ - at_ < expected.size() && more(at_)) {
        }
        if (std::string_view(buffer_.data() + at_, end_ - at_).starts_with(expected)) {
            at_ += expected.size();
            return true;
        }
    }
    return fail(at_ == end_ ? "the text ends too early" : "a value is missing");
}

bool JsonScanner::more(std::size_t& from) {
    const std::size_t kept = end_ - from;
    if (kept > 0 && from > 0) std::memmove(buffer_.data(), buffer_.data() + from, kept);
    before_ += from;
    at_ = at_ >= from ? at_ - from : 0;
    from = 0;
    end_ = kept;
    if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
    const std::size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    return got > 0;
}

bool JsonScanner::fail(const char* what) {
    if (damage_.empty()) damage_ = what;
    return false;
}

}  // namespace ridge::programs
