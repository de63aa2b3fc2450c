// Extents and counts as real numbers, for formulas that divide them:
//
//   const double waves = real(tiles) / real(machine.sm_count);
#pragma once

#include <cstdint>

namespace ridge::model {

/// Exact up to 2^53.
[[nodiscard]] constexpr double real(std::int64_t count) {
    return static_cast<double>(count);
}

}  // namespace ridge::model
