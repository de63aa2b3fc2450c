// What the process that leads and the ranks say to each other: one JSON text on a line each.
//
// A request is {"do": "sample", ...}; an answer has the values, or "unavailable" with "remedy", or
// "failed". Bytes (ids, addresses) travel as hexadecimal digits.
//
// Errors: reading throws DeviceError when a value is missing: both ends are the same program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware/json.h"
#include "measure/ranks/rank.h"

namespace ridge::measure {

[[nodiscard]] std::string hexadecimal(std::string_view bytes);
[[nodiscard]] std::string bytes_of_hexadecimal(std::string_view digits);

[[nodiscard]] std::string text_in(const Json& message, const char* name);
[[nodiscard]] double number_in(const Json& message, const char* name);
[[nodiscard]] std::int64_t whole_in(const Json& message, const char* name);

[[nodiscard]] Json message_of(const DeviceInfo& info);
[[nodiscard]] DeviceInfo info_in(const Json& message);
[[nodiscard]] Json message_of(const Environment& environment);
[[nodiscard]] Environment environment_in(const Json& message);
[[nodiscard]] Json message_of(const Geometry& geometry);
[[nodiscard]] Geometry geometry_in(const Json& message);
[[nodiscard]] Json message_of(const RankVerdict& verdict);
[[nodiscard]] RankVerdict verdict_in(const Json& message);
[[nodiscard]] Json message_of(const std::vector<RankSample>& samples);
[[nodiscard]] std::vector<RankSample> samples_in(const Json& message);

}  // namespace ridge::measure
