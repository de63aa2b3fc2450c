// The ranks of a run beside each other, as tables and JSON.
#pragma once

#include <cstddef>

#include "cli/console/context.h"
#include "cli/console/table.h"
#include "hardware/json.h"
#include "programs/report/rank_report.h"

namespace ridge::cli {

/// Ranks, what was found, and the `rows` collectives that cost most waiting; 0 shows all.
void write_ranks(const Context& context, const programs::RankReport& report, std::size_t rows);

[[nodiscard]] Json to_json(const programs::RankReport& report);

/// One row for each collective.
[[nodiscard]] Table collective_table(const programs::RankReport& report, std::size_t rows);

}  // namespace ridge::cli
