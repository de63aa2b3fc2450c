// Real numbers as text: the only place that turns the digits of a double into its value, and back.
//
//   read_real("1.5e3 us").value       // 1500; .length is 5
//   whole_real("0.25")                // 0.25
//   append_shortest(text, 0.1)        // "0.1", which reads back as the same double
//
// Method: fast_float reads, fmt writes. Both give the characters and the values of std::from_chars
// and std::to_chars, which the standard library of the WebAssembly compiler has only for integers.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace ridge {

struct RealText {
    double value = 0.0;
    std::size_t length = 0;  ///< characters of the number; 0 if the text begins with none
    std::errc error{};       ///< invalid_argument, or result_out_of_range with the value 0
};

/// The number at the start of `text`, by the rules of std::from_chars: no space and no plus before
/// it; "inf" and "nan" are numbers.
[[nodiscard]] RealText read_real(std::string_view text);

/// The finite number that is the whole of `text`.
[[nodiscard]] std::optional<double> whole_real(std::string_view text);

/// The fewest digits that read back as the same value: d.ddd x 10^exponent.
struct RealDigits {
    bool negative = false;
    [[nodiscard]] std::string_view digits() const {
        return {characters.data(), count};
    }  ///< without the point
    int exponent = 0;
    std::array<char, 24> characters{};
    std::size_t count = 0;
};

/// `value` must be finite.
[[nodiscard]] RealDigits shortest_digits(double value);

/// Appends the fewest characters that read back as the same value, plain or with an exponent.
void append_shortest(std::string& text, double value);

/// "12.50" for (12.5, 2)
[[nodiscard]] std::string fixed_text(double value, int decimals);

/// "1.25e+01" for (12.5, 2)
[[nodiscard]] std::string scientific_text(double value, int decimals);

}  // namespace ridge
