// Runs a command with --format json and returns what it prints. The test fails if the command
// fails.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run.h"

namespace ridge::test {

inline nlohmann::json json_of(const std::string& line) {
    const Transcript run = run_line(line + " --format json");
    CAPTURE(line, run.err);
    REQUIRE(run.code == 0);
    return nlohmann::json::parse(run.out);
}

}  // namespace ridge::test
