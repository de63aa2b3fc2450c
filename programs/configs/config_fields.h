// Reads the fields of a family from a config, and finds fields that the family does not know.
//
//   const ConfigSource source{.inner = &text_config, .outer = &json, .file = "config.json"};
//   read_fields(*family, source, values);    // InputError names a field that is missing or wrong
//   reject_unknown(*family, source);         // and one that the family does not know
//
// Method: a path like "rope_parameters.partial_rotary_factor" names a field of a nested object. Of a
// multimodal config, `inner` is the part for text; its fields are looked for there first. A field
// that no line of the family reads, that its list `ignored` does not name, and that is neither null,
// false, zero nor empty, may change the cost: it is an error.
// Limits: counts up to 10^12.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hardware/json.h"
#include "programs/families/family.h"

namespace ridge::programs {

inline constexpr std::int64_t largest_count = 1000000000000;
inline constexpr std::int64_t most_layers = 10000;

struct ConfigSource {
    const Json* inner = nullptr;
    const Json* outer = nullptr;
    std::string file{};
    /// Places of the fields, if the file is not JSON.
    std::map<std::string, Location> places{};

    /// The value of a path; nullptr if it is missing or null.
    [[nodiscard]] const Json* find(const std::string& path) const;
    [[noreturn]] void fail(const std::string& field, const std::string& what,
                           std::string hint = {}) const;
};

/// Whether the text fits the pattern, in which `*` stands for any text.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

void read_fields(const Family& family, const ConfigSource& source, SymbolValues& values);
void reject_unknown(const Family& family, const ConfigSource& source);

}  // namespace ridge::programs
