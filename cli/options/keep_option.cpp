#include "cli/options/keep_option.h"

#include "cli/options/command_line.h"

namespace ridge::cli {

void add_keep_option(CommandLine& line, std::string& names) {
    line.option("--keep", names, "columns of CSV tables that are left alone, by comma; all for any")
        .value("NAMES");
}

}  // namespace ridge::cli
