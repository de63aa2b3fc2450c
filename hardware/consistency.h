// Cross-checks of the redundant figures of a description.
//
// A quoted peak is multiprocessors x FLOP per cycle x clock (3 %); a DRAM bandwidth is bus width x
// transfers (1 %); links x bandwidth per link is the bandwidth of all links, and the total is twice
// that; L2 slices x one slice is the L2; PCIe lanes x lane rate; limits fit into each other. FMA
// peaks and fp64 tensor peaks are quoted at the boost clock, other tensor peaks at `clock.tensor`
// where there is one: on H100 no single clock reproduces both.
//
// Where sources really disagree, the file widens one check and says why:
//
//   [[tolerance]]
//   check = "peak.tensor.int4"
//   percent = 50
//   reason = "the datasheet prints the int8 figure"
#pragma once

#include <vector>

#include "hardware/description.h"
#include "hardware/document.h"

namespace ridge::hardware {

/// Disagreements between redundant figures, each message with both values and the tolerance. A
/// check whose inputs are absent is skipped.
[[nodiscard]] std::vector<Problem> check_consistency(const Description& description);

}  // namespace ridge::hardware
