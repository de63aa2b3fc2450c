// The report on a recorded program as a terminal page, JSON, CSV and Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "answers/gate.h"
#include "cli/console/context.h"
#include "cli/console/table.h"
#include "hardware/json.h"
#include "programs/report/trace_report.h"

namespace ridge::cli {

/// Writes `rows` operators and as many savings; 0 shows all.
void write_report(const Context& context, const programs::TraceReport& report, std::size_t rows);

/// Compares two runs of a program: what changed and why, largest change first.
void write_comparison(const Context& context, const programs::TraceReport& before,
                      const programs::TraceReport& after, const answers::GateReport& changes,
                      std::size_t rows);

/// "fusion: 9 kernels as one: add, pow, ..., 4 times: 239 us now, 31.7 us as one"
[[nodiscard]] std::string saving_text(const programs::Saving& saving);

[[nodiscard]] Json to_json(const programs::TraceReport& report);

/// One row per operator, in numbers that read back exactly (CSV) or for people (Markdown).
[[nodiscard]] Table operator_table(const programs::TraceReport& report, bool exact);

}  // namespace ridge::cli
