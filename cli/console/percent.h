// Shares as percentages in texts and tables.
//
//   percent(0.1234) == "12.3 %"        signed_percent(-0.05) == "-5.0 %"
#pragma once

#include <fmt/format.h>

#include <string>

#include "hardware/units.h"

namespace ridge::cli {

[[nodiscard]] inline std::string percent(double share, int digits = 3) {
    return format_number(100.0 * share, digits) + " %";
}

[[nodiscard]] inline std::string signed_percent(double share) {
    return fmt::format("{:+.1f} %", 100.0 * share);
}

}  // namespace ridge::cli
