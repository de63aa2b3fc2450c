// All studies as one page: a table of contents, the words, then text, figures and numbers of each, and all ratios.
#pragma once

#include <span>

#include "effects/study.h"
#include "plot/sections.h"

namespace ridge::effects {

[[nodiscard]] plot::Sections page_of(std::span<const Study> studies, const Subject& subject);

}  // namespace ridge::effects
