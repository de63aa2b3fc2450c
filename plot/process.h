// Runs another program with a text as its standard input and collects its output.
//
// No shell is involved: arguments are passed as they are. Reading and writing alternate, so that
// neither side blocks on a full pipe, and a program that exits early does not raise SIGPIPE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridge::plot {

struct ProcessResult {
    bool started = false;  ///< false if there is no such program
    int exit_code = 0;     ///< 128 + signal if it was killed
    std::string output;
    std::string errors;
};

/// `arguments` begins with the program, which is looked up on PATH.
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& arguments,
                                        std::string_view input);

}  // namespace ridge::plot
