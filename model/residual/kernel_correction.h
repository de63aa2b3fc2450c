// The residual correction of an engine's kernel: what its law leaves, over its shapes. (docs/model.md G8)
//
//   const FeatureValues values = kernel_correction_features(operation, prediction.tiling, sm_count);
//   correct_kernel(prediction, kernels, operation, kernel, machine);
//
// Method: as the corrections of libraries (`correction.h`), a sum of small trees without jumps, limited, and fading
// outside the box of the data; but few trees of one kernel, as fields of its own section (in files: CHIP/SOFTWARE.trees).
// The band is the kernel's and holds with the correction.
//
// Limits: GPUs of the architecture that was measured. The time that an eager call waits for the host stays.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/engine_kernel.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// In the order of the law's `features`. Products and attention only.
[[nodiscard]] FeatureValues kernel_correction_features(const Operation& operation,
                                                       const Tiling& tiling, double slots);

/// Multiplies `kernels`, the part of the time that the kernels take, and the band by what the whole changes.
void correct_kernel(Prediction& prediction, Time kernels, const Operation& operation,
                    const EngineKernel& kernel, const Machine& machine);

}  // namespace ridge::model
