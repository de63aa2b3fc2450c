#include "hardware/number_text.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include "hardware/error.h"

namespace ridge {
namespace {

/// Whether a digit other than 0 stands before the exponent.
bool has_value(std::string_view number) {
    const std::string_view mantissa = number.substr(0, number.find_first_of("eE"));
    return mantissa.find_first_of("123456789") != std::string_view::npos;
}

}  // namespace

RealText read_real(std::string_view text) {
    double value = 0.0;
    const char* const end = text.data() + text.size();
    const auto read = fast_float::from_chars(text.data(), end, value);
    if (read.ec == std::errc::invalid_argument) return {.error = read.ec};
    const std::string_view number(text.data(), static_cast<std::size_t>(read.ptr - text.data()));
    const bool lost = (std::isinf(value) || value == 0.0) && has_value(number);
    if (lost || read.ec != std::errc{}) {
        return {.length = number.size(), .error = std::errc::result_out_of_range};
    }
    return {.value = value, .length = number.size()};
}

std::optional<double> whole_real(std::string_view text) {
    const RealText read = read_real(text);
    if (read.error != std::errc{} || read.length != text.size() || !std::isfinite(read.value)) {
        return std::nullopt;
    }
    return read.value;
}

RealDigits shortest_digits(double value) {
    RIDGE_CONTRACT(std::isfinite(value));
    std::array<char, 40> buffer{};
    const char* const last = fmt::format_to(buffer.data(), "{}", std::fabs(value));
    const std::string_view written(buffer.data(), static_cast<std::size_t>(last - buffer.data()));
    const std::size_t e = std::min(written.find('e'), written.size());
    RealDigits result{.negative = std::signbit(value)};
    const std::size_t point = std::min(written.find('.'), e);
    const std::size_t first = std::min(written.find_first_not_of("0."), e);
    for (std::size_t at = first; at < e; ++at) {
        if (written[at] != '.') result.characters[result.count++] = written[at];
    }
    while (result.count > 1 && result.characters[result.count - 1] == '0') --result.count;
    if (result.count == 0) {
        result.characters[result.count++] = '0';
        return result;
    }
    result.exponent = static_cast<int>(point) - static_cast<int>(first) - (first < point ? 1 : 0);
    if (e < written.size()) {
        int exponent = 0;
        const std::size_t begin = e + (written[e + 1] == '+' ? 2 : 1);
        std::from_chars(written.data() + begin, written.data() + written.size(), exponent);
        result.exponent += exponent;
    }
    return result;
}

void append_shortest(std::string& text, double value) {
    if (!std::isfinite(value)) {
        text += std::isnan(value) ? (std::signbit(value) ? "-nan" : "nan")
                : value > 0       ? "inf"
                                  : "-inf";
        return;
    }
    const RealDigits number = shortest_digits(value);
    const std::string_view digits = number.digits();
    const int count = static_cast<int>(digits.size());
    const int exponent = number.exponent;
    const int scientific = count + (count > 1 ? 1 : 0) + (std::abs(exponent) >= 100 ? 5 : 4);
    const int plain = exponent < 0           ? count + 1 - exponent
                      : count > exponent + 1 ? count + 1
                                             : exponent + 1;
    if (number.negative) text += '-';
    if (plain > scientific) {
        text += digits[0];
        if (count > 1) text.append(1, '.').append(digits, 1);
        fmt::format_to(std::back_inserter(text), "e{}{:02}", exponent < 0 ? '-' : '+',
                       std::abs(exponent));
    } else if (exponent < 0) {
        text.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
    } else if (count > exponent + 1) {
        const auto whole = static_cast<std::size_t>(exponent) + 1;
        text.append(digits, 0, whole).append(1, '.').append(digits, whole);
    } else {
        fmt::format_to(std::back_inserter(text), "{:.0f}", std::fabs(value));
    }
}

std::string fixed_text(double value, int decimals) {
    return fmt::format("{:.{}f}", value, decimals);
}

std::string scientific_text(double value, int decimals) {
    return fmt::format("{:.{}e}", value, decimals);
}

}  // namespace ridge
