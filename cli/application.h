// The program without its process: arguments and a context in, an exit code out.
#pragma once

#include <span>
#include <string>

#include "cli/console/context.h"

namespace ridge::cli {

class CommandLine;

/// The program with its commands, as its help and its manual page list them.
[[nodiscard]] CommandLine program();

/// Parses and runs; every error is caught here, printed to `context.err` and mapped to an exit
/// code: 1 usage, 2 bad input data, 3 device, 4 bound exceeded, 70 internal.
int run(std::span<const std::string> arguments, const Context& context);

}  // namespace ridge::cli
