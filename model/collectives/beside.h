// Collectives and other kernels at the same time on one GPU.
//
//   share_taken(op, machine)            // of the multiprocessors, by a collective: 24 of 132
//   stretch_beside(product, machine)    // a collective beside it, over its time alone: 1.09
//
// Method (C14 of docs/model.md): each channel of a collective holds one multiprocessor, so kernels
// beside it run on the others. What they do to the collective depends on what bounds them.
// Limits: measured for rings on H200; a chip without `model.collective.kernel` has no influence.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// The share of the multiprocessors that a collective among GPUs holds. (eq. C14)
[[nodiscard]] double share_taken(const Collective& op, const Machine& machine);

/// The time of a collective while a kernel as `beside` runs, over its time alone. (eq. C14)
[[nodiscard]] double stretch_beside(const Prediction& beside, const Machine& machine);

}  // namespace ridge::model
