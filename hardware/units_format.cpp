#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "hardware/error.h"
#include "hardware/number_text.h"
#include "hardware/unit_table.h"
#include "hardware/units.h"

namespace ridge {
namespace {

using detail::Atom;
using detail::atoms;
using detail::binary_letters;
using detail::prefix_exponent;

/// The digits as a plain decimal if that is readable, otherwise with an exponent.
std::string plain(const RealDigits& number, int exponent) {
    const std::string_view digits = number.digits();
    std::string text = number.negative ? "-" : "";
    if (exponent >= 0 && exponent <= 17) {
        const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
        if (digits.size() <= whole) {
            return text.append(digits).append(whole - digits.size(), '0');
        }
        return text.append(digits, 0, whole).append(1, '.').append(digits, whole);
    }
    if (exponent < 0 && exponent >= -5) {
        return text.append("0.")
            .append(static_cast<std::size_t>(-exponent - 1), '0')
            .append(digits);
    }
    text += digits[0];
    if (digits.size() > 1) text.append(1, '.').append(digits, 1);
    return text + "e" + std::to_string(exponent);
}

const Atom& leading_atom(std::string_view unit) {
    const std::string_view symbol = unit.substr(0, unit.find('/'));
    for (const Atom& atom : atoms) {
        if (atom.symbol == symbol) return atom;
    }
    contract_violated("a unit's leading symbol is an atom", __FILE__, __LINE__);
}

/// The prefix in `allowed` that leaves one to three digits before the point; 0 if none does.
std::optional<char> fitting_prefix(std::string_view allowed, int exponent) {
    for (const char letter : allowed) {
        const int step = prefix_exponent(letter);
        if (exponent >= step && exponent < step + 3) return letter;
    }
    return std::nullopt;
}

std::string decimal_text(double base, std::string_view unit) {
    const RealDigits digits = shortest_digits(base);
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
    int exponent = 0;
    std::frexp(base, &exponent);
    const int power = base == 0.0 ? 0 : std::clamp((exponent - 1) / 10, 0, 5);
    const RealDigits digits = shortest_digits(std::ldexp(base, -10 * power));
    std::string unit = "B";
    if (power > 0)
        unit = std::string{binary_letters.at(static_cast<std::size_t>(power - 1)), 'i', 'B'};
    return plain(digits, digits.exponent) + " " + unit;
}

struct Scale {
    double factor;
    std::string_view unit;
};

/// The value in the largest unit that gives at least 1, taking rounding into account.
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

std::string format_exact(double base, const Dimension& dimension) {
    RIDGE_CONTRACT(std::isfinite(base));
    const QuantityKind& kind = quantity_kind(dimension);
    if (dimension == dimensionless) {
        const RealDigits digits = shortest_digits(base);
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
    const bool wide = magnitude >= 15 || magnitude < -5;
    const int decimals = wide ? digits - 1 : std::max(0, digits - 1 - static_cast<int>(magnitude));
    std::string text = wide ? scientific_text(value, decimals) : fixed_text(value, decimals);
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

std::string format_count(double count, std::string_view unit, int digits) {
    constexpr std::array<Scale, 6> scales{
        {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}}};
    return scaled(count, scales, 1000, digits) + std::string(unit);
}

std::string format_in_words(double count, int digits) {
    if (std::fabs(count) < 1e5) return format_number(count, std::max(digits, 5));
    constexpr std::array<Scale, 4> scales{
        {{1e3, "thousand"}, {1e6, "million"}, {1e9, "billion"}, {1e12, "trillion"}}};
    return scaled(count, scales, 1000, digits);
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
