// What a calibration's fits did to the errors, and which values were kept.
#pragma once

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "measure/fit/fit_all.h"

namespace ridge::cli {

/// A row for each fit and correction: rows, errors before and cross-validated, why values stay.
/// A table ends with the reasons and with what the model does not know.
void write_fitted(const Context& context, const measure::AllFits& fits, Format format);

}  // namespace ridge::cli
