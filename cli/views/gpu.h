// One GPU on one screen: memory hierarchy, peaks, links and totals; or every number with its
// source.
#pragma once

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/console/table.h"
#include "hardware/description.h"
#include "hardware/json.h"
#include "model/catalogue/why.h"
#include "model/machine/machine.h"

namespace ridge::cli {

/// Writes the overview of `ridge gpus show`, at most `context.width` columns wide.
void write_gpu_overview(const Context& context, const hardware::Description& gpu,
                        const model::Machine& machine);

/// The figures of the overview: registers, caches and memory with capacity, bandwidth and latency,
/// peaks by type, links.
[[nodiscard]] Json gpu_overview_json(const hardware::Description& gpu,
                                     const model::Machine& machine);

/// The memory hierarchy in base units, one row per level, for CSV and Markdown.
[[nodiscard]] Table gpu_levels_table(const hardware::Description& gpu,
                                     const model::Machine& machine);

/// Writes where a number comes from: its file, the command that wrote it, what that read.
void write_derivation(const Context& context, const model::Derivation& derivation, Format format);

/// Writes every number with its source.
void write_gpu_fields(const Context& context, const hardware::Description& gpu, Format format);

}  // namespace ridge::cli
