// Checked integer products of shapes, which must not overflow silently.
//
//   const std::int64_t elements = checked_product({{"m", m}, {"n", n}});
//
// A factor below 1 or a product beyond 2^62 throws InputError naming the fields.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace ridge {

struct NamedCount {
    std::string_view name;
    std::int64_t value;
};

/// Product of positive counts. InputError names the offending field, or all fields on overflow.
[[nodiscard]] std::int64_t checked_product(std::initializer_list<NamedCount> factors);

/// The number of multiples of b that cover a, ceil(a / b), for a >= 0 and b > 0, without overflow.
/// Most b are powers of two, for which no division is needed.
[[nodiscard]] constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
    const std::int64_t below = b - 1;
    if ((b & below) == 0) {
        const int digits = std::countr_zero(static_cast<std::uint64_t>(b));
        return (a >> digits) + ((a & below) != 0 ? 1 : 0);
    }
    return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace ridge
