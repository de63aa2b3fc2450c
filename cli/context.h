// What a command may touch of the outside world: its streams and what it knows of the terminal.
//
// Libraries never print; commands print to `out` and `err` of the context, which a test replaces
// by string streams.
#pragma once

#include <iosfwd>

namespace ridge::cli {

/// Exit codes of the program.
enum ExitCode : int {
    success = 0,
    usage = 1,
    bad_data = 2,
    device_failure = 3,
    bound_exceeded = 4,
    internal = 70
};

struct Context {
    std::istream& in;
    std::ostream& out;
    std::ostream& err;
    bool colour = false;    ///< ANSI colour on `out`
    bool terminal = false;  ///< `err` is a terminal: progress may be shown
    int width = 80;         ///< columns of the terminal
};

}  // namespace ridge::cli
