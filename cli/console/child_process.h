// Runs a command as a child of this program, in the foreground, and hands signals on to it.
//
//   const int status = run_child({"python", "train.py"}, {{"KEY", "value"}});
//
// Ctrl-C reaches the child from the terminal, a signal that somebody sends to this program is passed
// on; this program waits in both cases. Streams and everything else are the child's as they are ours.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ridge::cli {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The child's exit status, 128 + N where signal N ended it, 127 where there is no such command and 126
/// where it cannot be run; `failure` then says why.
struct ChildStatus {
    int code = 0;
    std::string failure{};
};

/// `variables` are added to the environment.
[[nodiscard]] ChildStatus run_child(const std::vector<std::string>& command,
                                    const Variables& variables);

}  // namespace ridge::cli
