// The search over deployments as a table and JSON.
#pragma once

#include "answers/deployments.h"
#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/console/rows.h"
#include "hardware/json.h"

namespace ridge::cli {

/// The front, the cheapest first.
[[nodiscard]] Rows front_rows(const answers::DeploymentSearch& search);
[[nodiscard]] Json to_json(const answers::DeploymentSearch& search);
/// The verdict, why the second lost, how to start the best, the front.
void write_search(const Context& context, const answers::DeploymentSearch& search);

}  // namespace ridge::cli
