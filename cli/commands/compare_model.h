// `ridge compare model`: steps of a model beside each other.
#pragma once

#include "cli/commands/commands.h"

namespace ridge::cli {

[[nodiscard]] Action build_compare_model(CommandLine& line);

}  // namespace ridge::cli
