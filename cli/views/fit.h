// The result of a fit: as lines of the file they go into, as tables, or for programs.
#pragma once

#include <optional>
#include <span>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "measure/fit/fit.h"
#include "measure/fit/fit_bands.h"
#include "measure/fit/fit_residual.h"
#include "measure/fit/fit_widths.h"

namespace ridge::cli {

/// Without a format, writes fields of a description file, with their errors as comments. CSV has a
/// row for each parameter, tables and Markdown also the errors of the rows, JSON everything.
void write_fits(const Context& context, std::span<const measure::FitReport> reports,
                std::optional<Format> format);

/// Without a format, writes lines of `calibration/bands.toml`.
void write_bands(const Context& context, std::span<const measure::FittedBand> bands,
                 std::optional<Format> format);

/// Without a format, writes lines of `calibration/bands.toml`, those that are not kept as comments.
void write_widths(const Context& context, const measure::FittedWidths& widths,
                  std::optional<Format> format);

/// Writes what corrections gain: errors of held-out rows, without and with them.
void write_corrections(const Context& context, std::span<const measure::ResidualReport> corrections,
                       std::optional<Format> format);

}  // namespace ridge::cli
