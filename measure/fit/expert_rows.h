// Which rows of blocks of experts were measured with tiles tuned for another model.
//
//   const ExpertRows rows = split_experts(read_folder(folder, {"moe_"}));
//   rows.own      // expert shapes that one model alone has: fits rest on these
//   rows.shared   // shapes of two models, of which either may have run tiles of the other
//
// Why: a serving engine times its tiles once for each shape of an expert on one GPU (hidden, intermediate
// / tp, experts / ep) and keeps the result under that name. The collectors of the public tables did so for
// all models together: of two models with one shape but another top-k or number of experts, the second
// finds no tile of its own and runs an untuned one, two to six times slower. Which of the two was second
// differs between GPUs, types and distributions and stands nowhere in a row (docs/model.md X7).
//
// Limit: a model that shares shapes with none of the rows given is not recognised.
#pragma once

#include <vector>

#include "measure/fit/rows.h"

namespace ridge::measure {

struct ExpertRows {
    std::vector<MeasuredRow> own;     ///< and rows of other operations
    std::vector<MeasuredRow> shared;  ///< in the order of the rows, as `own`
};
[[nodiscard]] ExpertRows split_experts(std::vector<MeasuredRow> rows);

}  // namespace ridge::measure
