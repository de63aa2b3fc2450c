// `ridge compare model`: steps of a model side by side.
#pragma once

#include "cli/commands/commands.h"

namespace ridge::cli {

[[nodiscard]] Action build_compare_model(CommandLine& line);

}  // namespace ridge::cli
