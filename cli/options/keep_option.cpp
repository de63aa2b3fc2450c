#include "cli/options/keep_option.h"

#include "cli/options/command_line.h"

namespace ridge::cli {

void add_keep_option(CommandLine& line, std::string& names) {
    line.option("--keep", names,
                "more columns that CSV tables may have, separated by commas, or all")
        .value("NAMES");
}

}  // namespace ridge::cli
