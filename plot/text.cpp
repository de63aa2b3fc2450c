#include "plot/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ridge::plot {

namespace {

constexpr char32_t replacement = 0xFFFD;

struct Decoded {
    char32_t code = replacement;
    std::size_t length = 1;
};

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// The first character of a non-empty text; an invalid byte becomes one replacement character.
Decoded decode(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) return {.code = lead, .length = 1};
    std::size_t length = 0;
    char32_t code = 0;
    if ((lead & 0xE0U) == 0xC0U) {
        length = 2;
        code = lead & 0x1FU;
    } else if ((lead & 0xF0U) == 0xE0U) {
        length = 3;
        code = lead & 0x0FU;
    } else if ((lead & 0xF8U) == 0xF0U) {
        length = 4;
        code = lead & 0x07U;
    } else {
        return {};
    }
    if (text.size() < length) return {};
    for (std::size_t i = 1; i < length; ++i) {
        if (!is_continuation(text[i])) return {};
        code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    }
    constexpr std::array<char32_t, 5> smallest = {0, 0, 0x80, 0x800, 0x10000};
    const bool overlong = code < smallest.at(length);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    const bool noncharacter = code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF;
    if (overlong || surrogate || noncharacter) return {};
    return {.code = code, .length = length};
}

void append_utf8(std::string& out, char32_t code) {
    const auto byte = [&out](char32_t value) { out.push_back(static_cast<char>(value)); };
    if (code < 0x80) {
        byte(code);
    } else if (code < 0x800) {
        byte(0xC0U | (code >> 6U));
        byte(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        byte(0xE0U | (code >> 12U));
        byte(0x80U | ((code >> 6U) & 0x3FU));
        byte(0x80U | (code & 0x3FU));
    } else {
        byte(0xF0U | (code >> 18U));
        byte(0x80U | ((code >> 12U) & 0x3FU));
        byte(0x80U | ((code >> 6U) & 0x3FU));
        byte(0x80U | (code & 0x3FU));
    }
}

/// Control characters, and marks that change the direction of the text around them.
bool is_control(char32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
           (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

/// Calls `visit(code)` for every cleaned character.
template <class Visit>
void for_each_character(std::string_view text, Visit visit) {
    while (!text.empty()) {
        const Decoded next = decode(text);
        visit(is_control(next.code) ? U' ' : next.code);
        text.remove_prefix(next.length);
    }
}

bool is_combining(char32_t code) {
    return (code >= 0x300 && code < 0x370) || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x202A && code <= 0x202E) || (code >= 0x20D0 && code < 0x2100) ||
           (code >= 0xFE00 && code <= 0xFE0F) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xFEFF;
}

bool is_wide(char32_t code) {
    return (code >= 0x1100 && code < 0x1160) || (code >= 0x2E80 && code < 0xA4D0) ||
           (code >= 0xAC00 && code < 0xD7A4) || (code >= 0xF900 && code < 0xFB00) ||
           (code >= 0xFF00 && code < 0xFF61) || (code >= 0x1F300 && code < 0x1FB00) ||
           (code >= 0x20000 && code < 0x40000);
}

bool is_superscript(char32_t code) {
    return code == 0xB2 || code == 0xB3 || code == 0xB9 || (code >= 0x2070 && code < 0x2090);
}

/// Advance widths of Helvetica for U+0020 to U+007E, in thousandths of an em.
constexpr std::array<int, 95> helvetica = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

int character_width(char32_t code) {
    if (code >= 0x20 && code < 0x7F) return helvetica.at(code - 0x20);
    if (is_combining(code)) return 0;
    if (is_superscript(code)) return 340;
    if (is_wide(code)) return 1000;
    if (code >= 0x2010 && code < 0x2C00) return 1000;  // arrows, dashes, mathematical signs
    return code < 0x250 ? 600 : 720;
}

/// Bold glyphs are wider; the rest covers DejaVu Sans, the widest of the fonts that viewers use
/// instead of Helvetica and metric-compatible fonts.
double weight_factor(Weight weight) {
    return weight == Weight::bold ? 1.25 : 1.13;
}

int character_columns(char32_t code) {
    if (is_combining(code)) return 0;
    return is_wide(code) ? 2 : 1;
}

std::string superscript(int exponent) {
    constexpr std::array<std::string_view, 10> digits = {"⁰", "¹", "²", "³", "⁴",
                                                         "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string out = exponent < 0 ? "⁻" : "";
    for (const char digit : std::to_string(std::abs(exponent))) {
        out += digits.at(static_cast<std::size_t>(digit - '0'));
    }
    return out;
}

std::string number_with_digits(double value, int digits) {
    if (!std::isfinite(value)) return std::isnan(value) ? "not a number" : "infinite";
    const double magnitude = std::abs(value);
    if (magnitude == 0.0) return "0";
    if (magnitude >= 1e-3 && magnitude < 999950.0) {
        const int whole_digits = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
        return whole_digits >= digits ? fmt::format("{:.0f}", value)
                                      : fmt::format("{:.{}g}", value, digits);
    }
    const auto exponent = static_cast<int>(std::floor(std::log10(magnitude) + 1e-12));
    // Dividing in two steps keeps subnormal numbers from underflowing the power of ten.
    const double half = std::pow(10.0, exponent / 2);
    const double mantissa = value / half / std::pow(10.0, exponent - exponent / 2);
    const std::string front = fmt::format("{:.{}g}", mantissa, digits);
    const std::string power = "10" + superscript(exponent);
    return front == "1" ? power : front + "×" + power;
}

/// '0' to '9' or '-' for a superscript character, otherwise 0.
char lowered(char32_t code) {
    constexpr std::u32string_view raised = U"⁰¹²³⁴⁵⁶⁷⁸⁹";
    if (code == U'⁻') return '-';
    const auto digit = raised.find(code);
    return digit == std::u32string_view::npos ? '\0' : static_cast<char>('0' + digit);
}

std::string ascii_of(char32_t code) {
    if (code < 0x80) return {static_cast<char>(code)};
    switch (code) {
        case U'−':
        case U'–':
        case U'—':
            return "-";
        case U'×':
            return "x";
        case U'·':
            return "*";
        case U'±':
            return "+-";
        case U'µ':
        case U'μ':
            return "u";
        case U'…':
            return "~";
        case 0xA0:
        case 0x202F:
            return " ";
        default:
            return is_combining(code) ? "" : "?";
    }
}

}  // namespace

std::string clean_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for_each_character(text, [&out](char32_t code) { append_utf8(out, code); });
    return out;
}

std::string escape_markup(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for_each_character(text, [&out](char32_t code) {
        switch (code) {
            case U'&':
                out += "&amp;";
                break;
            case U'<':
                out += "&lt;";
                break;
            case U'>':
                out += "&gt;";
                break;
            case U'"':
                out += "&quot;";
                break;
            case U'\'':
                out += "&#39;";
                break;
            default:
                append_utf8(out, code);
        }
    });
    return out;
}

std::string script_json_string(std::string_view text) {
    std::string out = "\"";
    for_each_character(text, [&out](char32_t code) {
        const bool breaks_script =
            code == U'<' || code == U'>' || code == U'&' || code == 0x2028 || code == 0x2029;
        if (breaks_script) {
            out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
        } else if (code == U'"' || code == U'\\') {
            out += '\\';
            out += static_cast<char>(code);
        } else {
            append_utf8(out, code);
        }
    });
    return out + '"';
}

double text_width(std::string_view text, double size, Weight weight) {
    int thousandths = 0;
    for_each_character(text, [&](char32_t code) { thousandths += character_width(code); });
    return thousandths * 1e-3 * size * weight_factor(weight);
}

std::string truncate_to_width(std::string_view text, double width, double size, Weight weight) {
    if (text_width(text, size, weight) <= width) return clean_text(text);
    const double limit = width / (size * weight_factor(weight)) * 1e3 - character_width(U'…');
    std::string out;
    double used = 0.0;
    bool full = false;
    for_each_character(text, [&](char32_t code) {
        used += character_width(code);
        full = full || used > limit;
        if (!full) append_utf8(out, code);
    });
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out + "…";
}

int text_columns(std::string_view text) {
    int columns = 0;
    for_each_character(text, [&columns](char32_t code) { columns += character_columns(code); });
    return columns;
}

std::string truncate_to_columns(std::string_view text, int columns, std::string_view ellipsis) {
    if (text_columns(text) <= columns) return clean_text(text);
    const int limit = std::max(0, columns - text_columns(ellipsis));
    std::string out;
    int used = 0;
    for_each_character(text, [&](char32_t code) {
        used += character_columns(code);
        if (used <= limit) append_utf8(out, code);
    });
    return columns > 0 ? out.append(ellipsis) : std::string{};
}

std::vector<std::string> wrap_text(std::string_view text, const Fits& fits) {
    std::vector<std::string> lines;
    std::string line;
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        const std::string word(text.substr(0, space));
        text.remove_prefix(std::min(space + 1, text.size()));
        std::string longer = line.empty() ? word : fmt::format("{} {}", line, word);
        if (!line.empty() && !fits(longer, lines.size())) {
            lines.push_back(std::exchange(line, word));
        } else {
            line = std::move(longer);
        }
    }
    if (!line.empty()) lines.push_back(std::move(line));
    return lines;
}

std::string to_ascii(std::string_view text) {
    std::string out;
    bool raised = false;
    for_each_character(text, [&](char32_t code) {
        const char digit = lowered(code);
        if (digit != '\0' && !raised) out += '^';
        raised = digit != '\0';
        out += raised ? std::string(1, digit) : ascii_of(code);
    });
    return out;
}

bool NaturalOrder::operator()(std::string_view a, std::string_view b) const {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto digits = [&is_digit](std::string_view text) {
        const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
        return text.substr(0, static_cast<std::size_t>(end - text.begin()));
    };
    while (!a.empty() && !b.empty()) {
        if (!is_digit(a.front()) || !is_digit(b.front())) {
            if (a.front() != b.front()) return a.front() < b.front();
            a.remove_prefix(1);
            b.remove_prefix(1);
            continue;
        }
        std::string_view x = digits(a);
        std::string_view y = digits(b);
        a.remove_prefix(x.size());
        b.remove_prefix(y.size());
        x.remove_prefix(std::min(x.find_first_not_of('0'), x.size()));
        y.remove_prefix(std::min(y.find_first_not_of('0'), y.size()));
        if (x.size() != y.size()) return x.size() < y.size();
        if (x != y) return x < y;
    }
    return a.size() < b.size();
}

std::string number_text(double value) {
    return number_with_digits(value, 4);
}

std::string short_number_text(double value) {
    return number_with_digits(value, 3);
}

std::string coordinate(double value) {
    std::string out = fmt::format("{:.2f}", value);
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
    return out == "-0" ? "0" : out;
}

}  // namespace ridge::plot
