// What the tests of answers that were once wrong share: a question, its JSON, and words in a text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run.h"

namespace ridge::test {

inline bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// The answer in JSON; the test fails without one.
inline nlohmann::json asked(const std::string& line) {
    const Transcript answer = run_line(line + " --format json");
    CAPTURE(line, answer.err);
    REQUIRE_FALSE(answer.out.empty());
    return nlohmann::json::parse(answer.out);
}

inline double time_of(const std::string& line) {
    return asked("predict " + line).at("time_us");
}

inline bool is_refused(const std::string& line) {
    const Transcript answer = run_line(line);
    return answer.code == 1 && answer.out.empty() && !answer.err.empty();
}

}  // namespace ridge::test
