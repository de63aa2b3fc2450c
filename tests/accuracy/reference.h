// Measured rows and error bounds of the accuracy tests.
//
//   const auto folder = reference_folder();          // RIDGE_REFERENCE; empty: skip
//   const Accuracy accuracy = accuracy_of(rows, machine_of);
//   check_bounds(accuracy, "attention.decode.h200-sxm");
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/fit/rows.h"
#include "model/machine/machine.h"

namespace ridge::test {

/// The directory that RIDGE_REFERENCE names, in the environment or in the build's cache. Where
/// there is none, prints why the test skips.
[[nodiscard]] std::optional<std::string> reference_folder();

/// The catalogue's machine of that name, resolved once.
[[nodiscard]] const model::Machine& machine_of(const std::string& gpu);

/// Errors in per cent.
struct Accuracy {
    std::size_t rows = 0;
    double mean = 0.0;
    double p90 = 0.0;
    double coverage = 0.0;  ///< share of times inside the predicted band
};

[[nodiscard]] Accuracy accuracy_of(
    const std::vector<measure::MeasuredRow>& rows,
    const std::function<const model::Machine&(const std::string&)>& machine);

/// Checks mean and p90 against the table of this name in bounds.toml, which must exist.
void check_errors(const Accuracy& accuracy, const std::string& name);

/// The same, and the coverage against `[coverage]`: for classes whose band was validated on many
/// rows of several kinds.
void check_bounds(const Accuracy& accuracy, const std::string& name);

}  // namespace ridge::test
