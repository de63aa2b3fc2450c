// The account of a finished prediction: what its numbers mean, settled once for every operation.
//
//   predict the time and the terms, then
//   settle_account(prediction, machine, L2State::warm);
//   prediction.bound, .limiter, .lower_bound, .algorithmic, .intensity
//
// Method (docs/model.md R1 to R8). One intensity per meaning: algorithmic (compulsory bytes) and
// DRAM (bytes that the implementation moves). The bound is the side of the ridge point on which the
// algorithmic intensity lies; the limiter is the largest term. The traffic of a level is the amount
// of its terms, and no term runs above what the hardware can do: such a term is as long as its
// amount takes at that ceiling, and the whole is no shorter. The lower bound is the roofline that a
// reader computes by hand from work, compulsory bytes and the state of the L2.
//
// Limits: a ceiling is the largest of datasheet and measured rate; what a description lacks has
// none.
#pragma once

#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// The most bytes per second that the L2 delivers, by datasheet or measured; zero where unknown.
[[nodiscard]] Bandwidth l2_ceiling(const Machine& machine);

/// The lower bound of any run: FLOP over the peak, compulsory bytes over the bandwidth of the level
/// that must serve them, of which the L2 may spare DRAM at most its own size. (R7)
[[nodiscard]] Time roofline_bound(const Work& work, FlopRate peak, const Machine& machine,
                                  L2State l2);

/// Settles all of the above. `prediction.lower_bound` is kept where it is set: an operation that
/// knows a bound of its own (links, whole sectors) gives it. (R8)
void settle_account(Prediction& prediction, const Machine& machine);

}  // namespace ridge::model
