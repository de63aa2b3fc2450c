// An effect as text, verdict and numbers.
#pragma once

#include <span>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/console/table.h"
#include "effects/study.h"

namespace ridge::cli {

/// Writes the answer: the first paragraph.
void write_answer(const Context& context, const effects::Study& study);

/// Writes the further paragraphs, the formula and the verdict on prediction and measurement.
void write_effect(const Context& context, const effects::Study& study);

/// One row for each point with a value; in base units if `exact`.
enum class Figures { readable, exact };
[[nodiscard]] Table effect_table(const effects::Study& study, Figures figures);

/// Writes JSON: a list of effects, each with its text, ratio and points.
void write_effects_json(const Context& context, std::span<const effects::Study> studies);

}  // namespace ridge::cli
