// Catch2 v2 and v3 under the same names. `contains_text` is the matcher for a part of a text; the
// two versions name it differently.
#pragma once

#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto contains_text(const std::string& part) {
    return Catch::Matchers::ContainsSubstring(part);
}
#else
#include <catch2/catch.hpp>
inline auto contains_text(const std::string& part) {
    return Catch::Matchers::Contains(part);
}
#endif
