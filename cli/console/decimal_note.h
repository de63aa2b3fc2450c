// Prints how k, M and G were understood, because many people write 128k for 131072.
//
//   $ ridge vram attention --seq 128k --heads 32 --head-dim 128
//   ridge: 128k is taken as 128000; write 128Ki for 131072
//
// Limits: any word of the command line that looks like such a count is taken for one.
#pragma once

#include <span>
#include <string>

#include "cli/console/context.h"

namespace ridge::cli {

/// Writes one line on `err` for the first such count among the arguments, if there is one.
void write_decimal_note(const Context& context, std::span<const std::string> arguments);

/// Writes the line for a table, without quoting its cells.
void write_decimal_note_of_table(const Context& context);

}  // namespace ridge::cli
