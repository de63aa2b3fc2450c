// What a reader of the page of all effects should know before the first of them: the words they use, with
// the figures of the GPU that is asked about; and, at the end, the ratios of all in one table.
//
// Sentences about what a GPU lacks (warps on a TPU) are left out, as in every text (effects/text.h).
#pragma once

#include <span>

#include "effects/study.h"
#include "plot/sections.h"

namespace ridge::effects {

[[nodiscard]] plot::Section opening_of(const Subject& subject);

/// What each effect is about: predicted, measured, and how far apart they are.
[[nodiscard]] plot::Section ratios_of(std::span<const Study> studies);

}  // namespace ridge::effects
