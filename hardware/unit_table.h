// The symbols of units and their prefixes, shared by the parser and the formatter of quantities.
#pragma once

#include <array>
#include <string_view>

#include "hardware/quantity.h"

namespace ridge::detail {

struct Atom {
    std::string_view symbol;
    Dimension dimension;
    std::string_view prefixes;  ///< decimal prefixes that it takes
    bool bare;                  ///< can also be written without a prefix
    bool binary;                ///< takes Ki, Mi ...
};

inline constexpr std::array<Atom, 11> atoms{{
    {"B", Bytes::dimension, "kMGTPE", true, true},
    {"FLOP", Flop::dimension, "kMGTPE", true, false},
    {"OP", Flop::dimension, "kMGTPE", true, false},
    {"clk", Cycles::dimension, "", true, false},
    {"cycle", Cycles::dimension, "", true, false},
    {"cycles", Cycles::dimension, "", true, false},
    {"T", Cycles::dimension, "MG", false, false},
    {"s", Time::dimension, "munp", true, false},
    {"Hz", Frequency::dimension, "kMG", true, false},
    {"W", Power::dimension, "mkM", true, false},
    {"J", Energy::dimension, "pnumkM", true, false},
}};

inline constexpr std::string_view prefix_letters = "pnumkMGTPE";
inline constexpr std::array<int, 10> prefix_exponents{-12, -9, -6, -3, 3, 6, 9, 12, 15, 18};
inline constexpr std::string_view binary_letters = "KMGTP";

[[nodiscard]] constexpr int prefix_exponent(char letter) {
    return prefix_exponents.at(prefix_letters.find(letter));
}

}  // namespace ridge::detail
