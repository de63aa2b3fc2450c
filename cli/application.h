// The program as a function: takes arguments and a context, returns an exit code.
#pragma once

#include <span>
#include <string>

#include "cli/console/context.h"

namespace ridge::cli {

class CommandLine;

/// The program with its commands, for its help and its manual page.
[[nodiscard]] CommandLine program();

/// Parses and runs the arguments. Every error is caught here, printed to `context.err` and turned
/// into an exit code: 1 usage, 2 bad input data, 3 device, 4 bound exceeded, 70 internal.
int run(std::span<const std::string> arguments, const Context& context);

}  // namespace ridge::cli
