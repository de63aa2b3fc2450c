// The verdict of `ridge check` and of two traces, for people and for programs.
#pragma once

#include <cstddef>
#include <string>

#include "answers/gate.h"
#include "cli/console/context.h"
#include "cli/console/format.h"
#include "hardware/json.h"

namespace ridge::cli {

/// The verdict, then what changed; `rows` changes, 0 for all.
void write_gate(const Context& context, const answers::GateReport& report, std::size_t rows,
                Format format);

/// The table of changes for people, without a verdict.
void write_changes(const Context& context, const answers::GateReport& report, std::size_t rows);

[[nodiscard]] Json to_json(const answers::GateReport& report);

/// For JUnit: one test case an item, a failure for each slower one.
[[nodiscard]] std::string junit_of(const answers::GateReport& report);

}  // namespace ridge::cli
