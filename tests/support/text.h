// Takes texts apart.
//
//   REQUIRE(lines_of(run.out).size() == 3);
//   CHECK(holds(run.err, "not measured"));
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::test {

/// The lines of a text, without line breaks.
inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

inline bool holds(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace ridge::test
