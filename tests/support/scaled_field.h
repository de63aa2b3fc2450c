// Multiplies one field of a GPU's description, for tests with wrong descriptions.
//
//   if (!scale_field(description.data.at("sm.count"), 0.1)) continue;
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include "hardware/description.h"

namespace ridge::test {

/// Counts are rounded and at least one. Returns false if the field is not a number or stays as it
/// was.
inline bool scale_field(hardware::Datum& datum, double by) {
    if (auto* const number = std::get_if<double>(&datum.value)) {
        *number *= by;
        return true;
    }
    auto* const count = std::get_if<std::int64_t>(&datum.value);
    if (count == nullptr) return false;
    const double scaled = std::round(static_cast<double>(*count) * by);
    const auto changed = static_cast<std::int64_t>(std::clamp(scaled, 1.0, 9e15));
    const bool differs = changed != *count;
    *count = changed;
    return differs;
}

}  // namespace ridge::test
