// GPUs and links of a fleet beside their siblings, as a terminal report, Markdown, JSON and CSV.
#pragma once

#include <span>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "measure/judge/siblings.h"
#include "measure/ranks/link_standing.h"

namespace ridge::cli {

/// CSV has one row per GPU; links are in the other formats.
void write_fleet(const Context& context, std::span<const measure::GpuStanding> gpus,
                 std::span<const measure::LinkStanding> links, Format format);

}  // namespace ridge::cli
