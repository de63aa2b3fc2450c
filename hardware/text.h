// Small functions that the readers of texts share.
//
//   trimmed("  12 GB\t") == "12 GB"      quoted("x\ny") == "\"x?y\""
//
// Limits: ASCII; other characters are left unchanged.
#pragma once

#include <string>
#include <string_view>

namespace ridge {

[[nodiscard]] constexpr bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

[[nodiscard]] constexpr char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// The text without spaces and tabs at both ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The text for a message: in quotes, at most 60 characters, control characters as '?'.
[[nodiscard]] inline std::string quoted(std::string_view text) {
    constexpr std::size_t most = 60;
    std::string shown = "\"";
    for (const char letter : text.substr(0, most)) {
        shown += static_cast<unsigned char>(letter) < 0x20 ? '?' : letter;
    }
    return shown + (text.size() > most ? "...\"" : "\"");
}

}  // namespace ridge
