// The one parser and the one formatter of quantities.
//
//   parse_quantity<Bandwidth>("4.8 TB/s")        // 4.8e12 B/s
//   parse_quantity<BytesPerCycle>("128 B/clk")
//   format(4.8 * units::TB / units::s)           // "4.8 TB/s"
//   format_exact(parse_quantity<Bytes>("60 MiB")) // "60 MiB"
//
// Units: B, FLOP (OP means the same), s, clk (cycle, cycles), Hz, T (transfers, "19.5 GT/s"), W, J.
// One may divide another ("TB/s", "FLOP/clk", "FLOP/B"). Decimal prefixes are k M G T P E and m u n
// p where they make sense; binary prefixes are Ki Mi Gi Ti Pi, for B only. "80 GB" is 80e9 bytes
// and "80 GiB" is 80 x 2^30. Case matters, because "b" would be a bit.
//
// Method: a decimal prefix shifts the exponent of the number's text before conversion, and a binary
// prefix is a power of two. A text is therefore rounded once, and parse(format_exact(x)) == x for
// every finite double.
//
// Limits: rates print with decimal prefixes (TB/s), capacities with binary ones (GiB); the prefix
// shows which.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hardware/quantity.h"

namespace ridge {

/// What messages call a dimension ("bandwidth", "capacity", "clock" ...), and an example.
struct QuantityKind {
    Dimension dimension;
    std::string_view name;
    std::string_view unit;     ///< in base units: "B/s"
    std::string_view example;  ///< "2039 GB/s"
};

/// The kind of a dimension. A dimension without a unit in ridge breaks the contract.
[[nodiscard]] const QuantityKind& quantity_kind(const Dimension& dimension);

/// The value of `text` in base units of `dimension`. InputError names the text, what was expected
/// and an example of a suitable unit. It does not know where the text comes from, so callers add
/// the field.
[[nodiscard]] double parse_base(std::string_view text, const Dimension& dimension);

template <class Q>
[[nodiscard]] Q parse_quantity(std::string_view text) {
    return Q::from_base(parse_base(text, Q::dimension));
}

/// A finite decimal number. InputError names `field`.
[[nodiscard]] double parse_number(std::string_view text, std::string_view field);

/// The shortest text that parses back to exactly this value; the value must be finite.
[[nodiscard]] std::string format_exact(double base, const Dimension& dimension);

template <Dimension D>
[[nodiscard]] std::string format_exact(Quantity<D> quantity) {
    return format_exact(quantity.base(), D);
}

/// A pure number with `digits` significant digits. Digits before the point are never dropped;
/// trailing zeros are.
[[nodiscard]] std::string format_number(double value, int digits = 3);

// Texts for people, with `digits` significant digits: "2.04 TB/s", "989 TFLOP/s", "12.3 us".
[[nodiscard]] std::string format(Bandwidth bandwidth, int digits = 3);
[[nodiscard]] std::string format(Flop work, int digits = 3);
[[nodiscard]] std::string format(FlopRate rate, int digits = 3);
[[nodiscard]] std::string format(Time time, int digits = 3);
[[nodiscard]] std::string format(Frequency clock, int digits = 4);
[[nodiscard]] std::string format(Power power, int digits = 3);
[[nodiscard]] std::string format(Energy energy, int digits = 3);
[[nodiscard]] std::string format(Cycles cycles, int digits = 3);
[[nodiscard]] std::string format(BytesPerCycle rate, int digits = 4);
[[nodiscard]] std::string format(FlopPerCycle rate, int digits = 4);
[[nodiscard]] std::string format(Intensity intensity, int digits = 4);

/// A count with the prefix that fits: "275 Gop", "8.19 kop".
[[nodiscard]] std::string format_count(double count, std::string_view unit, int digits = 3);

/// A count in words, for things without prefixes: "8192", "67.1 million".
[[nodiscard]] std::string format_in_words(double count, int digits = 3);

/// Occupied or available memory, with a binary prefix: "139.8 GiB".
[[nodiscard]] std::string format_capacity(Bytes capacity, int digits = 4);

/// Bytes that move, with a decimal prefix like rates: "40.3 GB".
[[nodiscard]] std::string format_traffic(Bytes traffic, int digits = 3);

/// A value in base units of `dimension`, as `format` prints it (capacities with binary prefixes).
[[nodiscard]] std::string format_base(double base, const Dimension& dimension);

}  // namespace ridge
