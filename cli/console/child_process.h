// Runs a command as a child of this program, in the foreground, and passes signals on to it.
//
//   const int status = run_child({"python", "train.py"}, {{"KEY", "value"}});
//
// The child gets a Ctrl-C from the terminal; a signal that a process sends to this program is
// passed on. In both cases this program waits for the child. The child inherits everything.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ridge::cli {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The child's exit status: 128 + N if signal N ended it, 127 if there is no such command, 126 if
/// it cannot be run. In the last two cases `failure` says why.
struct ChildStatus {
    int code = 0;
    std::string failure{};
};

/// `variables` are added to the environment.
[[nodiscard]] ChildStatus run_child(const std::vector<std::string>& command,
                                    const Variables& variables);

}  // namespace ridge::cli
