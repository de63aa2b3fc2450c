// Runs for the gate (gate.h) from what holds them: traces, records, tables of times.
//
//   const TimedRun run = run_of(trace, report_of(trace, machine));
//   run.items[0].name;      // "aten::mm [64,64] x [64,64] bf16"
//   run.items[0].samples;   // of each call
//
// A trace gives an item for each operator with its shapes (of JAX, for each instruction by its name), with one sample
// for each call; records
// give one for each question, rows of a table one for each name. Rows of one name are samples of it.
// A table needs a column with times and their unit (`time_us`, `ms`); its name is the column `name`
// or `kernel`, or else all other columns together.
#pragma once

#include <istream>
#include <span>
#include <string>

#include "answers/gate.h"
#include "measure/record/record.h"
#include "programs/report/trace_report.h"

namespace ridge::answers {

[[nodiscard]] TimedRun run_of(const programs::Trace& trace, const programs::TraceReport& report);

/// Records without a time are left out.
[[nodiscard]] TimedRun run_of(std::span<const measure::Record> records, const std::string& file);

/// InputError if the table has no column of times, or a time is no number above zero.
[[nodiscard]] TimedRun run_of_table(std::istream& stream, const std::string& file);

}  // namespace ridge::answers
