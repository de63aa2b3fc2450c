// Compares two trees of a TOML document: kinds, keys, values to the last bit, and places.
//
//   CHECK(difference(plain, document.root) == "");
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "hardware/document.h"

namespace ridge::hardware {

/// Where the first difference is; empty if there is none.
inline std::string difference(const Node& a, const Node& b) {
    const bool same_value =
        a.kind == b.kind && a.text == b.text && a.integer == b.integer && a.boolean == b.boolean &&
        std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
    const bool same_place = to_string(a.location()) == to_string(b.location()) &&
                            to_string(a.key_location()) == to_string(b.key_location());
    if (!same_value || !same_place || a.key != b.key || a.children.size() != b.children.size()) {
        return std::string(a.key) + " at " + to_string(a.location()) + ", " + std::string(b.key) +
               " at " + to_string(b.location());
    }
    for (std::size_t i = 0; i < a.children.size(); ++i) {
        std::string found = difference(a.children[i], b.children[i]);
        if (!found.empty()) return found;
    }
    return {};
}

}  // namespace ridge::hardware
