// Separates measured expert blocks whose tiles may have been tuned for another model.
//
//   const ExpertRows rows = split_experts(read_folder(folder, {"moe_"}));
//   rows.own      // shapes of experts that only one model has: fits use these
//   rows.shared   // shapes of two models; either may have run tiles tuned for the other
//
// Why: a serving engine tunes its tiles once for each shape of an expert on one GPU (hidden,
// intermediate / tp, experts / ep) and saves the result under that shape. The collectors of the
// public tables did so for all models together. When two models share a shape but differ in top-k
// or number of experts, the second finds no tiles of its own and runs untuned ones, two to six
// times slower. Which model was second differs between GPUs, types and distributions and is not
// recorded in a row (docs/model.md X7).
//
// Limit: a shared shape is not recognised if the rows of the other model are not among those given.
#pragma once

#include <vector>

#include "measure/fit/rows.h"

namespace ridge::measure {

struct ExpertRows {
    std::vector<MeasuredRow> own;     ///< also holds rows of other operations
    std::vector<MeasuredRow> shared;  ///< in the order of the rows, like `own`
};
[[nodiscard]] ExpertRows split_experts(std::vector<MeasuredRow> rows);

}  // namespace ridge::measure
