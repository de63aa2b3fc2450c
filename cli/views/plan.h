// A plan as tables, JSON, CSV and Markdown, and as a page.
#pragma once

#include <string>

#include "answers/plan.h"
#include "cli/console/context.h"
#include "cli/console/format.h"
#include "plot/report.h"

namespace ridge::cli {

void write_plan(const Context& context, const answers::Plan& plan, Format format);

/// A page with the verdict first. `command` is the command line that makes it again. The chart of
/// memory is added by the caller (charts/plan_chart.h).
[[nodiscard]] plot::Report plan_page(const answers::Plan& plan, const std::string& command);

/// "2 x h100-sxm"
[[nodiscard]] std::string name_of(const answers::PlanRow& row);

}  // namespace ridge::cli
