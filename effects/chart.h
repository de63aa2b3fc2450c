// The figures of a study as charts: filled marks are measured, lines and other marks predicted,
// half filled where such kernels were measured on this GPU or a relative.
#pragma once

#include <vector>

#include "effects/study.h"
#include "plot/chart.h"

namespace ridge::effects {

/// How a prediction with this evidence is drawn.
[[nodiscard]] plot::Origin origin_of(model::Grade evidence);

/// One chart for each figure that has a point. `subject` gives the roofs of a roofline.
[[nodiscard]] std::vector<plot::Chart> charts_of(const Study& study, const Subject& subject);

}  // namespace ridge::effects
