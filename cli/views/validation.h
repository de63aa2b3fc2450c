// A validation as a terminal report, Markdown, JSON and CSV.
#pragma once

#include <span>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "measure/judge/energy.h"
#include "measure/judge/validate.h"

namespace ridge::cli {

/// CSV has one row per record, the other formats have the groups and the worst cases.
void write_validation(const Context& context, const measure::Validation& validation,
                      const measure::EnergyJudgement& energy,
                      std::span<const measure::Record> records, Format format);

}  // namespace ridge::cli
