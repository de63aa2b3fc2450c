// Cross-checks between the redundant figures of a description.
//
// A quoted peak equals multiprocessors x FLOP per cycle x clock (within 3 %). DRAM bandwidth equals
// bus width x transfer rate (1 %). Links x bandwidth per link equals the bandwidth of all links one
// way, and the total is twice that. L2 slices x the figure of one slice equals that of the L2. PCIe
// bandwidth equals lanes x lane rate. Limits fit within each other. FMA peaks and fp64 tensor peaks
// are quoted at the boost clock, and other tensor peaks at `clock.tensor` if it is given: on H100
// no single clock reproduces both.
//
// When sources really disagree, the file widens one check and says why:
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

/// Disagreements between redundant figures, each with both values and the tolerance. A check is
/// skipped if one of its inputs is absent.
[[nodiscard]] std::vector<Problem> check_consistency(const Description& description);

}  // namespace ridge::hardware
