// How much of a program's time rests on which evidence, as text and JSON.
#pragma once

#include <string>

#include "hardware/json.h"
#include "programs/graph/program.h"

namespace ridge::cli {

/// "measured 83 %, related 17 %": of the time of the kernels.
[[nodiscard]] std::string evidence_text(const programs::Totals& total);

/// The share of each grade of evidence in the time of the kernels, and the weakest; null if the time
/// lacks operations.
[[nodiscard]] Json evidence_json(const programs::Totals& total);

}  // namespace ridge::cli
