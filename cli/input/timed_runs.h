// The runs of one side of `ridge check`: a file, several with commas between them, or a folder.
#pragma once

#include <string>
#include <vector>

#include "answers/gate.h"
#include "cli/console/context.h"
#include "cli/input/machines.h"

namespace ridge::cli {

/// Each trace and each table is a run; the records of a file or of a folder are one. InputError if
/// there is nothing with a time.
[[nodiscard]] std::vector<answers::TimedRun> read_runs(const Context& context,
                                                       const std::string& side, Machines& machines);

}  // namespace ridge::cli
