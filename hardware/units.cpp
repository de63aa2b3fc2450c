#include "hardware/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <vector>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "hardware/number_text.h"
#include "hardware/text.h"
#include "hardware/unit_table.h"

namespace ridge {
namespace {

using detail::Atom;
using detail::atoms;
using detail::binary_letters;
using detail::prefix_exponent;

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

/// A unit: its dimension and the powers of ten and two that convert to base units.
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

/// All spellings of the units that have this dimension.
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

/// A decimal number split so that its exponent can be shifted: mantissa (sign, digits, point),
/// exponent.
struct DecimalText {
    std::string_view mantissa;  ///< without a plus
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
    const std::size_t first = text[0] == '-' ? 0 : sign;
    DecimalText result{.mantissa = text.substr(first, at - first), .exponent = 0, .length = at};
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        std::size_t digits = at + 1;
        if (digits + 1 < text.size() && text[digits] == '+' && text[digits + 1] != '-') ++digits;
        const char* const begin = text.data() + digits;
        const char* const end = text.data() + text.size();
        const auto parsed = std::from_chars(begin, end, result.exponent);
        if (parsed.ptr == begin) return result;  // the "e" belongs to the unit
        if (parsed.ec != std::errc{}) return std::nullopt;
        result.length = static_cast<std::size_t>(parsed.ptr - text.data());
    }
    return result;
}

/// mantissa x 10^(exponent + decimal) x 2^binary; empty when no finite double holds it.
std::optional<double> convert(const DecimalText& number, int decimal, int binary) {
    if (std::abs(static_cast<double>(number.exponent)) > exponent_limit) return std::nullopt;
    std::array<char, longest_text + 16> text;  // not initialised: only written characters are read
    char* const exponent = std::copy(number.mantissa.begin(), number.mantissa.end(), text.data());
    *exponent = 'e';
    const char* const end =
        std::to_chars(exponent + 1, text.data() + text.size(), number.exponent + decimal).ptr;
    const auto read = whole_real({text.data(), static_cast<std::size_t>(end - text.data())});
    if (!read) return std::nullopt;
    const double value = std::ldexp(*read, binary);
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
    std::string what = "has a different unit";
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

}  // namespace ridge
