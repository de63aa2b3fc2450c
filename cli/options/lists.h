// Options that take one value or several: "8", "1,2,4,8", "1:8:*2", "bf16,fp8".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

/// The words of a list separated by commas. InputError names the option if there is none.
[[nodiscard]] std::vector<std::string> words_in(std::string_view text, std::string_view option);

/// The counts of a list or range (sweep_range.h). InputError names the option.
[[nodiscard]] std::vector<std::int64_t> counts_in(std::string_view text, std::string_view option);

}  // namespace ridge::cli
