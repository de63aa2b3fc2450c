// Measured rows and error bounds of the accuracy tests.
//
//   const auto folder = reference_folder();          // RIDGE_REFERENCE; empty: skip
//   const measure::ErrorSummary accuracy = accuracy_of(rows, machine);
//   check_bounds(accuracy, "attention.decode.h200-sxm");
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/fit/rows.h"
#include "measure/statistics/error_summary.h"
#include "model/machine/machine.h"

namespace ridge::test {

/// The directory that RIDGE_REFERENCE names, in the environment or in the build's cache. If it does
/// not exist, prints why the test skips and returns nothing.
[[nodiscard]] std::optional<std::string> reference_folder();

/// The bound at this path of bounds.toml, which must exist.
[[nodiscard]] double bound(const std::string& path);

[[nodiscard]] measure::ErrorSummary accuracy_of(
    const std::vector<measure::MeasuredRow>& rows,
    const std::function<const model::Machine&(const std::string&)>& machine);

/// Checks mean and p90 against the table of this name in bounds.toml (percent), which must exist.
void check_errors(const measure::ErrorSummary& accuracy, const std::string& name);

/// Checks the same, and the coverage against `[coverage]`. For classes whose band was validated on
/// many rows of several kinds.
void check_bounds(const measure::ErrorSummary& accuracy, const std::string& name);

}  // namespace ridge::test
