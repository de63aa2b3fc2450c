// Reads counts and sizes as people write them.
//
//   parse_count("4096", "m"), parse_count("4_096", "m"), parse_count("4Ki", "m")   // 4096
//   parse_count("1e5", "elements"), parse_count("1.5M", "elements")
//   parse_count("8MB", "bytes", CountUnit::bytes)                                  // 8'000'000
//   read_count("128k", "seq")->decimal     // 128000; the user may have meant 131072
//
// A count is digits, optionally with '_' between them, a fraction or an exponent; then k, M, G or T
// (powers of 1000) or Ki, Mi, Gi or Ti (powers of 1024), in either case; then B, only for sizes.
// The value is exact: a text that is not a whole number from 0 to 2^63 - 1 is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ridge {

enum class CountUnit : std::uint8_t { none, bytes };

struct WrittenCount {
    std::int64_t value = 0;
    bool decimal = false;  ///< has k, M, G or T without a unit, which often means a power of 1024
};

/// Empty if the text is not a whole number in this range.
[[nodiscard]] std::optional<WrittenCount> read_count(std::string_view text,
                                                     CountUnit unit = CountUnit::none);

/// InputError names `field` and says what is wrong.
[[nodiscard]] std::int64_t parse_count(std::string_view text, std::string_view field,
                                       CountUnit unit = CountUnit::none);

}  // namespace ridge
