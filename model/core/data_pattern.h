// What fills the inputs of an operation. It changes how many transistors toggle, and so power and,
// under the power limit, the clock.
//
//   parse_data_pattern("zeros")    // DataPattern::zeros
#pragma once

#include <cstdint>
#include <string_view>

namespace ridge::model {

/// Random numbers of a normal or an even distribution, zeros, or the same number everywhere.
enum class DataPattern : std::uint8_t { normal, uniform, zeros, constant };

[[nodiscard]] std::string_view name_of(DataPattern pattern);
/// The inverse of name_of. InputError lists the known words.
[[nodiscard]] DataPattern parse_data_pattern(std::string_view text);

}  // namespace ridge::model
