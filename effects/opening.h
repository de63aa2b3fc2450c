// The opening and the closing of the page of all effects: the terms that a reader should know
// before the first effect, with the figures of the chosen GPU; and a table of all ratios.
//
// Sentences about features that a GPU lacks (warps on a TPU) are left out, as in every text
// (effects/text.h).
#pragma once

#include <span>

#include "effects/study.h"
#include "plot/sections.h"

namespace ridge::effects {

[[nodiscard]] plot::Section opening_of(const Subject& subject);

/// What each effect shows: the predicted ratio, the measured one, and how far apart they are.
[[nodiscard]] plot::Section ratios_of(std::span<const Study> studies);

}  // namespace ridge::effects
