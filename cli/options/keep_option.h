// `--keep`: columns of CSV tables that ridge ignores.
#pragma once

#include <string>

#include "measure/record/shape_columns.h"

namespace ridge::cli {

class CommandLine;

void add_keep_option(CommandLine& line, std::string& names);

}  // namespace ridge::cli
