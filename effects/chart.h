// The figures of a study as charts: hollow marks and lines are predicted, filled marks measured.
#pragma once

#include <vector>

#include "effects/study.h"
#include "plot/chart.h"

namespace ridge::effects {

/// One chart for each figure that has a point. `subject` gives the roofs of a roofline.
[[nodiscard]] std::vector<plot::Chart> charts_of(const Study& study, const Subject& subject);

}  // namespace ridge::effects
