// A diagnosis as JSON (docs/diagnose.schema.json) and in words, the same for every front end.
#pragma once

#include <string>
#include <string_view>

#include "answers/diagnose.h"
#include "hardware/json.h"

namespace ridge::answers {

inline constexpr std::string_view diagnose_schema = "ridge/diagnosis/1";

/// "87 % of DRAM"; above 100 % it says that this cannot be.
[[nodiscard]] std::string roof_text(const Case& one);

/// "qkv: 2.1x the expected time; ... Check ..."
[[nodiscard]] std::string text_of(const Case& one);

[[nodiscard]] Json to_json(const Case& one);
[[nodiscard]] Json to_json(const Report& report);

}  // namespace ridge::answers
