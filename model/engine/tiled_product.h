// The law `tiled_product`: a product of an engine whose blocks compute tiles of the result along k.
//
//   rows = 128, columns = 128, depth = 128, cluster_rows = 2, step = 4, end = 3, overlaps = 1
//
// Method (docs/model.md G1 to G6). The dispatch gives the tile. Tiles are dealt to the multiprocessors
// in waves; each takes its steps along k, and an end, which a kernel with two groups of warps overlaps
// with the next tile. Beside that, DRAM serves the operands that are not in the L2, the copy engine fills
// what lies beyond their edges, and the power limit holds the tensor cores down. A norm joins these. A
// pass that quantises the input comes before the product, if the engine's call includes one.
//
// Limits: no stream-k; tiles are of one size.
#pragma once

#include "model/engine/law_time.h"

namespace ridge::model {

[[nodiscard]] LawTime tiled_product(const LawCall& call);

}  // namespace ridge::model
