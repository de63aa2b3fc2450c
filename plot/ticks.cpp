#include "plot/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "hardware/error.h"
#include "plot/text.h"

namespace ridge::plot {

namespace {

constexpr std::array<double, 3> mantissas = {1.0, 2.0, 5.0};
constexpr double slack = 1e-9;  ///< relative tolerance for a tick at the end of the range

double power_of_ten(int exponent) {
    return std::pow(10.0, exponent);
}

/// Smallest of 1, 2, 5 x 10^k that is at least `value`.
double step_at_least(double value) {
    const int exponent = static_cast<int>(std::floor(std::log10(value) + slack));
    for (const double mantissa : {1.0, 2.0, 5.0, 10.0}) {
        const double step = mantissa * power_of_ten(exponent);
        if (step >= value * (1.0 - slack)) return step;
    }
    return power_of_ten(exponent + 1);
}

std::string tick_text(double value, double step) {
    if (std::abs(value) < 1e-9 * std::abs(step)) return "0";
    if (std::abs(value) < 1e6 && std::abs(value) >= 1e-3) {
        const int decimals =
            std::clamp(static_cast<int>(-std::floor(std::log10(step) + slack)), 0, 9);
        return fmt::format("{:.{}f}", value, decimals);
    }
    return number_text(value);
}

std::string log_tick_text(double value) {
    if (value >= 1.0 && value < 99999.0) return fmt::format("{:.0f}", value);
    if (value >= 1e-3 * (1 - slack) && value < 1.0) return fmt::format("{:.4g}", value);
    return number_text(value);
}

std::vector<Tick> linear_ticks(const Range& range, int most_labels) {
    const double span = range.high - range.low;
    double step = step_at_least(span / std::max(1, most_labels - 1));
    const auto first_of = [&] { return std::ceil(range.low / step - slack); };
    const auto last_of = [&] { return std::floor(range.high / step + slack); };
    while (last_of() - first_of() + 1 > most_labels) step = step_at_least(step * 1.5);
    // Between two multiples of this step lie one or two of the next smaller one.
    if (last_of() < first_of()) step = step_at_least(step / 2.5);
    std::vector<Tick> out;
    const double first = first_of();
    const int count = static_cast<int>(last_of() - first) + 1;
    for (int i = 0; i < count; ++i) {
        const double value = (first + i) * step;
        out.push_back({.value = value, .text = tick_text(value, step)});
    }
    return out;
}

struct LogMarks {
    std::vector<Tick> marks;
    int decades = 0;  ///< ticks at powers of ten
};

LogMarks log_marks(const Range& range) {
    LogMarks out;
    const int first = static_cast<int>(std::floor(std::log10(range.low) + slack));
    const int last = static_cast<int>(std::ceil(std::log10(range.high) - slack));
    for (int exponent = first; exponent <= last; ++exponent) {
        for (const double mantissa : mantissas) {
            const double value = mantissa * power_of_ten(exponent);
            if (value < range.low * (1 - slack) || value > range.high * (1 + slack)) continue;
            const bool decade = mantissa == 1.0;
            out.marks.push_back({.value = value, .text = {}, .decade = decade});
            out.decades += decade ? 1 : 0;
        }
    }
    return out;
}

/// Every `stride`-th decade, counted from 10^0 so that the choice does not depend on the range.
std::vector<Tick> strided_decades(const std::vector<Tick>& marks, int stride) {
    std::vector<Tick> out;
    for (const Tick& mark : marks) {
        const auto exponent = static_cast<int>(std::lround(std::log10(mark.value)));
        if (!mark.decade || exponent % stride != 0) continue;
        out.push_back(mark);
        out.back().text = log_tick_text(mark.value);
    }
    return out;
}

std::vector<Tick> log_ticks(const Range& range, int most_labels) {
    LogMarks all = log_marks(range);
    if (all.marks.size() < 3) return linear_ticks(range, most_labels);
    if (all.decades > most_labels) {
        int stride = 2;
        std::vector<Tick> out = strided_decades(all.marks, stride);
        while (static_cast<int>(out.size()) > most_labels) {
            out = strided_decades(all.marks, ++stride);
        }
        return out;
    }
    const auto most = static_cast<std::size_t>(most_labels);
    const bool decades_only = all.marks.size() > most && all.decades >= 2;
    const std::size_t stride = decades_only ? 1 : (all.marks.size() + most - 1) / most;
    for (std::size_t i = 0; i < all.marks.size(); ++i) {
        Tick& mark = all.marks[i];
        if (decades_only ? mark.decade : i % stride == 0) mark.text = log_tick_text(mark.value);
    }
    return all.marks;
}

/// "512", "131072"; from a mebi on "1Mi".
std::string doubled_text(double value) {
    constexpr double mebi = 1048576.0;
    for (const auto& [unit, word] : {std::pair{1024.0 * mebi, "Gi"}, std::pair{mebi, "Mi"}}) {
        const double units = value / unit;
        if (units >= 1.0 && units < 1e5 && units == std::round(units)) {
            return fmt::format("{:.0f}{}", units, word);
        }
    }
    return value < 1e7 && value == std::round(value) ? fmt::format("{:.0f}", value)
                                                     : log_tick_text(value);
}

/// Each power of two times `first` within the range; every n-th has text, counted from `first`.
std::vector<Tick> doubled_ticks(double first, const Range& range, int most_labels) {
    const int lowest = static_cast<int>(std::ceil(std::log2(range.low / first) - slack));
    const int highest = static_cast<int>(std::floor(std::log2(range.high / first) + slack));
    const int stride = (highest - lowest) / most_labels + 1;
    std::vector<Tick> out;
    for (int i = lowest; i <= highest; ++i) {
        const double value = std::ldexp(first, i);
        const bool labelled = i % stride == 0;
        out.push_back({.value = value,
                       .text = labelled ? doubled_text(value) : std::string(),
                       .decade = labelled});
    }
    return out;
}

}  // namespace

bool drawable(double value, Scale scale) {
    if (!std::isfinite(value) || std::abs(value) > 1e120) return false;
    return scale == Scale::linear || value >= 1e-120;
}

std::vector<Tick> ticks(const Range& range, Scale scale, int most_labels) {
    RIDGE_CONTRACT(range.low < range.high && most_labels >= 2);
    return scale == Scale::log ? log_ticks(range, most_labels) : linear_ticks(range, most_labels);
}

std::string name_at(const Axis& axis, double value) {
    const double place = std::round(value);
    const auto last = static_cast<double>(axis.names.size());
    if (!(place >= 1.0) || place > last) return {};
    return axis.names[static_cast<std::size_t>(place) - 1];
}

std::optional<double> doubling_of(const std::vector<double>& values) {
    if (values.empty()) return std::nullopt;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (!(*low > 0.0) || *high < 4.0 * *low) return std::nullopt;
    const double first = *low;
    const bool doubled = std::all_of(values.begin(), values.end(), [first](double value) {
        const double power = std::log2(value / first);
        return std::abs(power - std::round(power)) < 1e-9;
    });
    return doubled ? std::optional(first) : std::nullopt;
}

std::vector<Tick> axis_ticks(const Axis& axis, const Range& range, int most_labels) {
    if (axis.doubling && axis.scale == Scale::log) {
        // A range that contains too few doubled values gets ordinary ticks.
        std::vector<Tick> doubled = doubled_ticks(*axis.doubling, range, most_labels);
        if (doubled.size() > 2) return doubled;
    }
    if (axis.names.empty()) return ticks(range, axis.scale, most_labels);
    std::vector<Tick> named;
    for (std::size_t i = 0; i < axis.names.size(); ++i) {
        const auto at = static_cast<double>(i + 1);
        if (at >= range.low && at <= range.high)
            named.push_back({.value = at, .text = axis.names[i]});
    }
    return named;
}

Range rounded_out(const Range& range, Scale scale) {
    if (scale == Scale::linear) {
        if (range.low == range.high) {
            const double by = range.low == 0.0 ? 1.0 : std::abs(range.low) * 0.5;
            return rounded_out({.low = range.low - by, .high = range.high + by}, scale);
        }
        const double step = step_at_least((range.high - range.low) / 10.0);
        return {.low = std::floor(range.low / step + slack) * step,
                .high = std::ceil(range.high / step - slack) * step};
    }
    if (range.low == range.high) {
        return rounded_out({.low = range.low / 3.0, .high = range.high * 3.0}, scale);
    }
    const auto down = [](double value) {
        const int exponent = static_cast<int>(std::floor(std::log10(value) + slack));
        double best = power_of_ten(exponent);
        for (const double mantissa : mantissas) {
            const double candidate = mantissa * power_of_ten(exponent);
            if (candidate <= value * (1 + slack)) best = candidate;
        }
        return best;
    };
    return {.low = down(range.low), .high = step_at_least(range.high)};
}

Range range_of(const std::vector<double>& values, Scale scale) {
    bool any = false;
    Range out =
        scale == Scale::log ? Range{.low = 1.0, .high = 10.0} : Range{.low = 0.0, .high = 1.0};
    for (const double value : values) {
        if (!drawable(value, scale)) continue;
        out = any ? Range{.low = std::min(out.low, value), .high = std::max(out.high, value)}
                  : Range{.low = value, .high = value};
        any = true;
    }
    return out;
}

Range padded(const Range& range, Scale scale, double fraction) {
    if (scale == Scale::linear) {
        const double by = (range.high - range.low) * fraction;
        return {.low = range.low - by, .high = range.high + by};
    }
    const double factor =
        std::pow(10.0, (std::log10(range.high) - std::log10(range.low)) * fraction);
    return {.low = range.low / factor, .high = range.high * factor};
}

double position(double value, const Range& range, Scale scale) {
    if (scale == Scale::linear) return (value - range.low) / (range.high - range.low);
    return (std::log10(value) - std::log10(range.low)) /
           (std::log10(range.high) - std::log10(range.low));
}

Range resolved(const Axis& axis, const Range& automatic) {
    for (const auto& limit : {axis.low, axis.high}) {
        if (limit && !drawable(*limit, axis.scale)) {
            throw InputError(fmt::format("the {} axis cannot reach {}", axis.title, *limit), {},
                             axis.scale == Scale::log ? "a logarithmic axis takes positive numbers"
                                                      : "use a finite number");
        }
    }
    Range out = {.low = axis.low.value_or(automatic.low),
                 .high = axis.high.value_or(automatic.high)};
    const bool both = axis.low && axis.high;
    if (!both && out.low >= out.high) {
        const bool log = axis.scale == Scale::log;
        const double span = std::max(1.0, std::abs(axis.low ? out.low : out.high));
        if (axis.low) out.high = log ? out.low * 10.0 : out.low + span;
        if (axis.high) out.low = log ? out.high / 10.0 : out.high - span;
    }
    if (!(out.low < out.high)) {
        throw InputError(
            fmt::format("the {} axis runs from {} to {}", axis.title, out.low, out.high), {},
            "the first limit must be below the second");
    }
    return out;
}

}  // namespace ridge::plot
