// Predictions of the kernels of engines.
//
//   Prediction prediction = ...;                       // the operation's counts, as for any kernel
//   apply_engine(prediction, operation, execution, *kernel, machine);
//
// Method: the recipe's dispatch gives the attributes for this shape, its law the time of the kernels. The
// mode stream takes the host's time for an eager call, if that is longer; mode graph and kernel do not.
// The band is the kernel's own, found with its values.
//
// Limits: the state of the L2 counts where the law says so.
#pragma once

#include <string>

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/engine_kernel.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// Why the kernel has no answer for the operation; empty if it has one.
[[nodiscard]] std::string engine_refusal(const Operation& operation, const EngineKernel& kernel,
                                         const Machine& machine);

/// Sets time, terms, traffic, tiling and band over a prediction that has the operation's counts and
/// lower bound. The kernel must have an answer. Returns the part of the time that the kernels take.
[[nodiscard]] Time apply_engine(Prediction& prediction, const Operation& operation,
                                const Execution& execution, const EngineKernel& kernel,
                                const Machine& machine);

}  // namespace ridge::model
