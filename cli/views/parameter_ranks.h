// Parameters by what they do to the errors of records, as a terminal report, Markdown and CSV.
#pragma once

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "measure/judge/parameter_ranks.h"

namespace ridge::cli {

/// People see the first of them and a summary; programs see all.
void write_parameter_ranks(const Context& context, const measure::ParameterRanks& found,
                           Format format);

}  // namespace ridge::cli
