#include "hardware/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <vector>

#include "hardware/error.h"
#include "hardware/nearest.h"

namespace ridge {
namespace {

constexpr std::size_t longest_text = 200;
constexpr int exponent_limit = 100000;

constexpr std::array<QuantityKind, 13> kinds{{
    {dimensionless, "pure number", "", "2"},
    {Bytes::dimension, "capacity", "B", "80 GiB"},
    {Flop::dimension, "amount of work", "FLOP", "137 GFLOP"},
    {Cycles::dimension, "number of cycles", "clk", "280 clk"},
    {Time::dimension, "time", "s", "2.5 us"},
    {Energy::dimension, "energy", "J", "1.5 J"},
    {Bandwidth::dimension, "bandwidth", "B/s", "2039 GB/s"},
    {FlopRate::dimension, "FLOP rate", "FLOP/s", "312 TFLOP/s"},
    {Frequency::dimension, "clock", "Hz", "1830 MHz"},
    {Power::dimension, "power", "W", "700 W"},
    {BytesPerCycle::dimension, "number of bytes per cycle", "B/clk", "128 B/clk"},
    {FlopPerCycle::dimension, "number of FLOP per cycle", "FLOP/clk", "512 FLOP/clk"},
    {Intensity::dimension, "arithmetic intensity", "FLOP/B", "153 FLOP/B"},
}};

struct Atom {
    std::string_view symbol;
    Dimension dimension;
    std::string_view prefixes;  ///< decimal prefixes it takes
    bool bare;                  ///< stands without a prefix too
    bool binary;                ///< takes Ki, Mi ...
};

constexpr std::array<Atom, 11> atoms{{
    {"B", Bytes::dimension, "kMGTPE", true, true},
    {"FLOP", Flop::dimension, "kMGTPE", true, false},
    {"OP", Flop::dimension, "kMGTPE", true, false},
    {"clk", Cycles::dimension, "", true, false},
    {"cycle", Cycles::dimension, "", true, false},
    {"cycles", Cycles::dimension, "", true, false},
    {"T", Cycles::dimension, "MG", false, false},
    {"s", Time::dimension, "munp", true, false},
    {"Hz", Frequency::dimension, "kMG", true, false},
    {"W", Power::dimension, "mkM", true, false},
    {"J", Energy::dimension, "pnumkM", true, false},
}};

constexpr std::string_view prefix_letters = "pnumkMGTPE";
constexpr std::array<int, 10> prefix_exponents{-12, -9, -6, -3, 3, 6, 9, 12, 15, 18};
constexpr std::string_view binary_letters = "KMGTP";

int prefix_exponent(char letter) {
    return prefix_exponents.at(prefix_letters.find(letter));
}

std::string quoted(std::string_view text) {
    std::string shown = "\"";
    for (const char letter : text.substr(0, 60)) {
        shown += static_cast<unsigned char>(letter) < 0x20 ? '?' : letter;
    }
    return shown + (text.size() > 60 ? "...\"" : "\"");
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A unit: its dimension and the powers of ten and two that lead to base units.
struct Unit {
    Dimension dimension;
    int decimal = 0;
    int binary = 0;
};

std::optional<Unit> match(const Atom& atom, std::string_view prefix) {
    if (prefix.empty()) {
        return atom.bare ? std::optional<Unit>({.dimension = atom.dimension}) : std::nullopt;
    }
    if (prefix.size() == 1 && atom.prefixes.find(prefix[0]) != std::string_view::npos) {
        return Unit{.dimension = atom.dimension, .decimal = prefix_exponent(prefix[0])};
    }
    if (atom.binary && prefix.size() == 2 && prefix[1] == 'i') {
        const std::size_t power = binary_letters.find(prefix[0]);
        if (power == std::string_view::npos) return std::nullopt;
        return Unit{.dimension = atom.dimension, .binary = 10 * (static_cast<int>(power) + 1)};
    }
    return std::nullopt;
}

std::optional<Unit> parse_atom(std::string_view text) {
    for (const std::string_view micro : {"\xC2\xB5", "\xCE\xBC"}) {
        if (text.starts_with(micro)) return parse_atom("u" + std::string(text.substr(2)));
    }
    for (const Atom& atom : atoms) {
        if (!text.ends_with(atom.symbol)) continue;
        const auto unit = match(atom, text.substr(0, text.size() - atom.symbol.size()));
        if (unit) return unit;
    }
    return std::nullopt;
}

std::optional<Unit> parse_unit(std::string_view text) {
    if (text.empty()) return Unit{};
    const std::size_t slash = text.find('/');
    const auto numerator = parse_atom(trimmed(text.substr(0, slash)));
    if (!numerator || slash == std::string_view::npos) return numerator;
    const auto denominator = parse_atom(trimmed(text.substr(slash + 1)));
    if (!denominator) return std::nullopt;
    return Unit{.dimension = numerator->dimension - denominator->dimension,
                .decimal = numerator->decimal - denominator->decimal,
                .binary = numerator->binary - denominator->binary};
}

/// Every spelling of the units that have this dimension.
std::vector<std::string> spellings(const Atom& atom) {
    std::vector<std::string> result;
    if (atom.bare) result.emplace_back(atom.symbol);
    for (const char letter : atom.prefixes) result.push_back(letter + std::string(atom.symbol));
    if (atom.binary) {
        for (const char letter : binary_letters) {
            result.push_back(std::string{letter, 'i'} + std::string(atom.symbol));
        }
    }
    return result;
}

std::string nearest_unit(std::string_view text) {
    std::vector<std::string> all;
    for (const Atom& atom : atoms) {
        for (const std::string& spelling : spellings(atom)) {
            all.push_back(spelling);
            if (atom.dimension == Bytes::dimension || atom.dimension == Flop::dimension) {
                all.push_back(spelling + "/s");
                all.push_back(spelling + "/clk");
            }
        }
    }
    std::string compact;
    for (const char letter : text.substr(0, 40)) {
        if (letter != ' ') compact += letter;
    }
    return nearest(compact, all);
}

/// A decimal number split so that its exponent can be shifted: sign, digits with point, exponent.
struct DecimalText {
    std::string mantissa;
    int exponent = 0;
    std::size_t length = 0;
};

std::size_t skip_digits(std::string_view text, std::size_t from) {
    while (from < text.size() && text[from] >= '0' && text[from] <= '9') ++from;
    return from;
}

std::optional<DecimalText> split_decimal(std::string_view text) {
    std::size_t at = (!text.empty() && (text[0] == '-' || text[0] == '+')) ? 1 : 0;
    const std::size_t sign = at;
    const std::size_t whole = skip_digits(text, at) - at;
    at += whole;
    std::size_t fraction = 0;
    if (at < text.size() && text[at] == '.') {
        fraction = skip_digits(text, at + 1) - (at + 1);
        at += 1 + fraction;
        if (fraction == 0) return std::nullopt;
    }
    if (whole == 0) return std::nullopt;
    DecimalText result{.mantissa = (sign == 1 && text[0] == '-' ? "-" : "") +
                                   std::string(text.substr(sign, at - sign)),
                       .exponent = 0,
                       .length = at};
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        std::size_t digits = at + 1;
        if (digits < text.size() && text[digits] == '+') ++digits;
        const char* const begin = text.data() + digits;
        const char* const end = text.data() + text.size();
        const auto parsed = std::from_chars(begin, end, result.exponent);
        if (parsed.ptr == begin) return result;  // an "e" that belongs to the unit
        if (parsed.ec != std::errc{}) return std::nullopt;
        result.length = static_cast<std::size_t>(parsed.ptr - text.data());
    }
    return result;
}

/// mantissa x 10^(exponent + decimal) x 2^binary; empty when no finite double holds it.
std::optional<double> convert(const DecimalText& number, int decimal, int binary) {
    if (std::abs(static_cast<double>(number.exponent)) > exponent_limit) return std::nullopt;
    const std::string text = number.mantissa + "e" + std::to_string(number.exponent + decimal);
    double value = 0.0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
    value = std::ldexp(value, binary);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string expectation(const Dimension& dimension) {
    const QuantityKind& kind = quantity_kind(dimension);
    const bool vowel = std::string_view("aeiou").find(kind.name[0]) != std::string_view::npos;
    return std::string(vowel ? "an " : "a ") + std::string(kind.name) + " such as \"" +
           std::string(kind.example) + "\"";
}

[[noreturn]] void reject_unit(std::string_view text, std::string_view unit,
                              const Dimension& dimension) {
    const std::string near_unit = nearest_unit(unit);
    throw InputError("unknown unit " + quoted(unit) + " in " + quoted(text) + ", expected " +
                         expectation(dimension),
                     {}, near_unit.empty() ? "" : "did you mean \"" + near_unit + "\"?");
}

[[noreturn]] void reject_kind(std::string_view text, const Dimension& found,
                              const Dimension& dimension) {
    std::string what = "has another unit";
    if (found == dimensionless) what = "has no unit";
    for (const QuantityKind& kind : kinds) {
        if (kind.dimension == found && found != dimensionless) {
            what = "is a " + std::string(kind.name);
            if (kind.name == "amount of work" || kind.name == "energy") {
                what = "is an " + std::string(kind.name);
            }
        }
    }
    throw InputError(quoted(text) + " " + what + ", expected " + expectation(dimension));
}

struct Digits {
    bool negative = false;
    std::string digits;  ///< without a point: d.ddd x 10^exponent
    int exponent = 0;
};

Digits shortest_digits(double value) {
    std::array<char, 64> buffer{};
    const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                       std::fabs(value), std::chars_format::scientific);
    const std::string_view text(buffer.data(),
                                static_cast<std::size_t>(written.ptr - buffer.data()));
    const std::size_t e = text.find('e');
    Digits result{.negative = std::signbit(value), .digits = {}, .exponent = 0};
    for (const char letter : text.substr(0, e)) {
        if (letter != '.') result.digits += letter;
    }
    const std::size_t exponent = e + (text[e + 1] == '+' ? 2 : 1);
    std::from_chars(text.data() + exponent, text.data() + text.size(), result.exponent);
    return result;
}

/// Digits as a plain decimal when that is readable, else with an exponent.
std::string plain(const Digits& number, int exponent) {
    const std::string sign = number.negative ? "-" : "";
    const int count = static_cast<int>(number.digits.size());
    const auto whole = static_cast<std::size_t>(exponent + 1);
    if (exponent >= 0 && exponent <= 17) {
        if (count <= exponent + 1) {
            return sign + number.digits + std::string(whole - number.digits.size(), '0');
        }
        return sign + number.digits.substr(0, whole) + "." + number.digits.substr(whole);
    }
    if (exponent < 0 && exponent >= -5) {
        return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') +
               number.digits;
    }
    const std::string fraction = count > 1 ? "." + number.digits.substr(1) : "";
    return sign + number.digits.substr(0, 1) + fraction + "e" + std::to_string(exponent);
}

const Atom& leading_atom(std::string_view unit) {
    const std::string_view symbol = unit.substr(0, unit.find('/'));
    for (const Atom& atom : atoms) {
        if (atom.symbol == symbol) return atom;
    }
    contract_violated("a unit's leading symbol is an atom", __FILE__, __LINE__);
}

/// The prefix of `allowed` that leaves one to three digits before the point; 0 when none does.
std::optional<char> fitting_prefix(std::string_view allowed, int exponent) {
    for (const char letter : allowed) {
        const int step = prefix_exponent(letter);
        if (exponent >= step && exponent < step + 3) return letter;
    }
    return std::nullopt;
}

std::string decimal_text(double base, std::string_view unit) {
    const Digits digits = shortest_digits(base);
    if (base != 0.0) {
        const auto prefix = fitting_prefix(leading_atom(unit).prefixes, digits.exponent);
        if (prefix) {
            return plain(digits, digits.exponent - prefix_exponent(*prefix)) + " " + *prefix +
                   std::string(unit);
        }
    }
    return plain(digits, digits.exponent) + " " + std::string(unit);
}

std::string binary_text(double base) {
    int power = 0;
    for (double size = std::fabs(base); size >= 1024.0 && power < 5; size /= 1024.0) ++power;
    const Digits digits = shortest_digits(std::ldexp(base, -10 * power));
    std::string unit = "B";
    if (power > 0)
        unit = std::string{binary_letters.at(static_cast<std::size_t>(power - 1)), 'i', 'B'};
    return plain(digits, digits.exponent) + " " + unit;
}

struct Scale {
    double factor;
    std::string_view unit;
};

/// The value in the largest unit that leaves at least 1, with a rounding carry counted.
template <std::size_t Count>
std::string scaled(double value, const std::array<Scale, Count>& scales, double step, int digits) {
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < Count; ++i) {
        if (std::fabs(value) >= scales.at(i).factor) chosen = i;
    }
    const double shown = value / scales.at(chosen).factor;
    const double unit_in_last_place =
        std::pow(10.0, std::floor(std::log10(std::fabs(shown) + 1e-300)) + 1 - digits);
    if (chosen + 1 < Count && step - std::fabs(shown) <= unit_in_last_place / 2) ++chosen;
    return format_number(value / scales.at(chosen).factor, digits) + " " +
           std::string(scales.at(chosen).unit);
}

}  // namespace

const QuantityKind& quantity_kind(const Dimension& dimension) {
    for (const QuantityKind& kind : kinds) {
        if (kind.dimension == dimension) return kind;
    }
    contract_violated("the dimension has a unit", __FILE__, __LINE__);
}

double parse_base(std::string_view text, const Dimension& dimension) {
    const std::string_view whole = trimmed(text);
    if (whole.size() > longest_text) {
        throw InputError(quoted(text) + " is too long, expected " + expectation(dimension));
    }
    const auto number = split_decimal(whole);
    if (!number) {
        throw InputError(quoted(text) + " does not begin with a number, expected " +
                         expectation(dimension));
    }
    const std::string_view unit_text = trimmed(whole.substr(number->length));
    const auto unit = parse_unit(unit_text);
    if (!unit) reject_unit(text, unit_text, dimension);
    if (unit->dimension != dimension) reject_kind(text, unit->dimension, dimension);
    const auto value = convert(*number, unit->decimal, unit->binary);
    if (!value) {
        throw InputError(quoted(text) + " is out of range, expected " + expectation(dimension));
    }
    return *value;
}

std::int64_t parse_count(std::string_view text, std::string_view field) {
    const std::string_view whole = trimmed(text);
    std::int64_t value = 0;
    const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), value);
    const auto used = static_cast<std::size_t>(parsed.ptr - whole.data());
    const std::string where = field.empty() ? "" : std::string(field) + ": ";
    if (parsed.ec == std::errc::result_out_of_range) {
        throw InputError(where + quoted(text) + " is too large for a count");
    }
    if (parsed.ec == std::errc{} && used == whole.size() && value >= 0) return value;
    std::string hint;
    const std::string_view rest = parsed.ec == std::errc{} ? whole.substr(used) : "";
    if ((rest == "K" || rest == "k") && value > 0 && value < (1 << 20)) {
        hint = "write " + std::to_string(value * 1024) + " or " + std::to_string(value * 1000);
    }
    throw InputError(where + quoted(text) + " is not a whole number from 0 up", {}, hint);
}

double parse_number(std::string_view text, std::string_view field) {
    const std::string_view whole = trimmed(text);
    const std::string where = field.empty() ? "" : std::string(field) + ": ";
    const auto number = whole.size() > longest_text ? std::nullopt : split_decimal(whole);
    if (!number || number->length != whole.size()) {
        throw InputError(where + quoted(text) + " is not a number");
    }
    const auto value = convert(*number, 0, 0);
    if (!value) throw InputError(where + quoted(text) + " is out of range");
    return *value;
}

std::string format_exact(double base, const Dimension& dimension) {
    RIDGE_CONTRACT(std::isfinite(base));
    const QuantityKind& kind = quantity_kind(dimension);
    if (dimension == dimensionless) {
        const Digits digits = shortest_digits(base);
        return plain(digits, digits.exponent);
    }
    std::string decimal = decimal_text(base, kind.unit);
    if (dimension != Bytes::dimension) return decimal;
    std::string binary = binary_text(base);
    return binary.size() <= decimal.size() ? binary : decimal;
}

std::string format_number(double value, int digits) {
    RIDGE_CONTRACT(digits >= 1 && digits <= 17);
    if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    if (value == 0.0) return "0";
    const double magnitude = std::floor(std::log10(std::fabs(value)));
    std::array<char, 400> buffer{};
    const bool wide = magnitude >= 15 || magnitude < -5;
    const int decimals = wide ? digits - 1 : std::max(0, digits - 1 - static_cast<int>(magnitude));
    const auto written =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                      wide ? std::chars_format::scientific : std::chars_format::fixed, decimals);
    std::string text(buffer.data(), written.ptr);
    const std::size_t e = text.find('e');
    const std::string exponent = e == std::string::npos ? "" : text.substr(e);
    text = text.substr(0, e);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text + exponent;
}

std::string format(Bandwidth bandwidth, int digits) {
    constexpr std::array<Scale, 5> scales{
        {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}};
    return scaled(bandwidth.base(), scales, 1000, digits);
}

std::string format(Flop work, int digits) {
    constexpr std::array<Scale, 6> scales{{{1, "FLOP"},
                                           {1e3, "kFLOP"},
                                           {1e6, "MFLOP"},
                                           {1e9, "GFLOP"},
                                           {1e12, "TFLOP"},
                                           {1e15, "PFLOP"}}};
    return scaled(work.base(), scales, 1000, digits);
}

std::string format(FlopRate rate, int digits) {
    constexpr std::array<Scale, 5> scales{
        {{1, "FLOP/s"}, {1e3, "kFLOP/s"}, {1e6, "MFLOP/s"}, {1e9, "GFLOP/s"}, {1e12, "TFLOP/s"}}};
    return scaled(rate.base(), scales, 1000, digits);
}

std::string format(Time time, int digits) {
    constexpr std::array<Scale, 4> scales{{{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}};
    return scaled(time.base(), scales, 1000, digits);
}

std::string format(Frequency clock, int digits) {
    constexpr std::array<Scale, 4> scales{{{1, "Hz"}, {1e3, "kHz"}, {1e6, "MHz"}, {1e10, "GHz"}}};
    if (clock.base() >= 1e10) return format_number(clock.in(units::GHz), digits) + " GHz";
    return scaled(clock.base(), scales, 1e4, digits);
}

std::string format(Power power, int digits) {
    return format_number(power.in(units::W), digits) + " W";
}

std::string format(Energy energy, int digits) {
    constexpr std::array<Scale, 4> scales{{{1e-9, "nJ"}, {1e-6, "uJ"}, {1e-3, "mJ"}, {1, "J"}}};
    return scaled(energy.base(), scales, 1000, digits);
}

std::string format(Cycles cycles, int digits) {
    return format_number(cycles.base(), digits) + " clk";
}

std::string format(BytesPerCycle rate, int digits) {
    return format_number(rate.base(), digits) + " B/clk";
}

std::string format(FlopPerCycle rate, int digits) {
    return format_number(rate.base(), digits) + " FLOP/clk";
}

std::string format(Intensity intensity, int digits) {
    return format_number(intensity.base(), digits) + " FLOP/B";
}

std::string format_capacity(Bytes capacity, int digits) {
    constexpr std::array<Scale, 5> scales{{{1, "B"},
                                           {1024.0, "KiB"},
                                           {1048576.0, "MiB"},
                                           {1073741824.0, "GiB"},
                                           {1099511627776.0, "TiB"}}};
    return scaled(capacity.base(), scales, 1024, digits);
}

std::string format_traffic(Bytes traffic, int digits) {
    constexpr std::array<Scale, 6> scales{
        {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}}};
    return scaled(traffic.base(), scales, 1000, digits);
}

std::string format_base(double base, const Dimension& dimension) {
    if (dimension == Bytes::dimension) return format_capacity(Bytes::from_base(base));
    if (dimension == Bandwidth::dimension) return format(Bandwidth::from_base(base), 4);
    if (dimension == FlopRate::dimension) return format(FlopRate::from_base(base), 4);
    if (dimension == Frequency::dimension) return format(Frequency::from_base(base));
    if (dimension == Time::dimension) return format(Time::from_base(base));
    if (dimension == Flop::dimension) return format(Flop::from_base(base));
    if (dimension == Energy::dimension) return format(Energy::from_base(base));
    const std::string unit(quantity_kind(dimension).unit);
    return format_number(base, 4) + (unit.empty() ? "" : " " + unit);
}

}  // namespace ridge
