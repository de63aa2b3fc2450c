// All studies as one page: a table of contents, the terms, the text, figures and numbers of each
// study, and a table of all ratios.
#pragma once

#include <span>

#include "effects/study.h"
#include "plot/sections.h"

namespace ridge::effects {

[[nodiscard]] plot::Sections page_of(std::span<const Study> studies, const Subject& subject);

}  // namespace ridge::effects
