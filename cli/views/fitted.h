// How a calibration's fits changed the errors, and which values they kept.
#pragma once

#include <string>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "measure/fit/fit_all.h"

namespace ridge::cli {

/// Whether the fits change any answer.
[[nodiscard]] bool is_changed(const measure::AllFits& fits);
/// "12 parameters of matmul, attention; 2 new corrections"; empty if nothing changed.
[[nodiscard]] std::string changes_text(const measure::AllFits& fits);

/// Writes a row for each fit and correction: rows, errors before and cross-validated, and why
/// values were kept. A table ends with the reasons and with kernels that the model does not know.
void write_fitted(const Context& context, const measure::AllFits& fits, Format format);

}  // namespace ridge::cli
