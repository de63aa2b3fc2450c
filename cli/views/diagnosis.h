// A diagnosis of measured times as a table, JSON, CSV and Markdown, and as a page.
#pragma once

#include <cstddef>
#include <string>

#include "answers/diagnose.h"
#include "cli/console/context.h"
#include "cli/console/format.h"
#include "plot/report.h"

namespace ridge::cli {

/// `most` rows of the table for people; 0: all.
void write_diagnosis(const Context& context, const answers::Report& report, std::size_t most,
                     Format format);

/// A page with the verdict first. `command` is the command line that makes it again.
[[nodiscard]] plot::Report diagnosis_page(const answers::Report& report,
                                          const std::string& command);

}  // namespace ridge::cli
