// Settles what the numbers of a finished prediction mean, once for every operation.
//
//   predict the time and the terms, then
//   settle_account(prediction, machine, L2State::warm);
//   prediction.bound, .limiter, .lower_bound, .algorithmic, .intensity
//
// Method (docs/model.md R1 to R8). There are two intensities: algorithmic (compulsory bytes) and
// DRAM (bytes that the implementation moves). The bound is the side of the ridge point on which the
// algorithmic intensity lies. The limiter is the largest term. The traffic of a level is the amount
// of its terms. No term runs above what the hardware can do: such a term takes as long as its
// amount takes at that ceiling, and the whole is no shorter. The lower bound is the roofline that a
// reader computes by hand from work, compulsory bytes and the state of the L2.
//
// Limits: a ceiling is the larger of datasheet and measured rate. A resource whose rates the
// description lacks has no ceiling.
#pragma once

#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// The most bytes per second that the L2 delivers, by datasheet or measurement; zero if unknown.
[[nodiscard]] Bandwidth l2_ceiling(const Machine& machine);

/// The lower bound of any run: FLOP over the peak, and compulsory bytes over the bandwidth of the
/// level that must serve them. The L2 may spare DRAM at most its own size. (R7)
[[nodiscard]] Time roofline_bound(const Work& work, FlopRate peak, const Machine& machine,
                                  L2State l2);

/// Settles all of the above. `prediction.lower_bound` is kept if it is set: operations with a bound
/// of their own (links, whole sectors) set it. (R8)
void settle_account(Prediction& prediction, const Machine& machine);

/// Adds up terms of one resource, lists `parallelism` as a term where too few blocks limit, and
/// makes the largest term the limiter. Comes last: corrections see the terms as the rooms wrote
/// them. (R8)
void settle_terms(Prediction& prediction);

}  // namespace ridge::model
