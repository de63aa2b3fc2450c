// Stands in for `ridge fit` and `ridge calibrate` in a build without fits (RIDGE_FIT=OFF), as
// scripts/demo makes one: both commands keep their place in the help and say how to get them.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "hardware/error.h"

namespace ridge::cli {
namespace {

[[noreturn]] void refuse_fit() {
    throw InputError("this build of ridge has no fits", {}, "configure it with -DRIDGE_FIT=ON");
}

/// Whatever is asked for is refused, except help.
Action refused_command(CommandLine& line, std::span<const std::string> arguments) {
    const bool asks_for_help = std::any_of(
        arguments.begin(), arguments.end(),
        [](const std::string& argument) { return argument == "-h" || argument == "--help"; });
    if (!arguments.empty() && !asks_for_help) refuse_fit();
    line.footer("This build of ridge has no fits: configure it with -DRIDGE_FIT=ON.");
    return [](const Context&) -> int { refuse_fit(); };
}

}  // namespace

Action build_fit(CommandLine& line, std::span<const std::string> arguments) {
    return refused_command(line, arguments);
}

Action build_calibrate(CommandLine& line, std::span<const std::string> arguments) {
    return refused_command(line, arguments);
}

}  // namespace ridge::cli
