// A hash of texts that is the same on every machine: 64-bit FNV-1a.
//
//   const std::uint64_t fold = upper_half(text_hash("n=4096|k=512")) % 5;
//
// Limits: the lower bits are weak; what is taken modulo a small number needs the upper half.
#pragma once

#include <cstdint>
#include <string_view>

namespace ridge {

/// `hash`: of what stands before the text.
[[nodiscard]] constexpr std::uint64_t text_hash(std::string_view text,
                                                std::uint64_t hash = 0xcbf29ce484222325U) {
    constexpr std::uint64_t prime = 0x100000001b3U;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * prime;
    return hash;
}

[[nodiscard]] constexpr std::uint64_t upper_half(std::uint64_t hash) {
    constexpr unsigned half = 32;
    return hash >> half;
}

}  // namespace ridge
