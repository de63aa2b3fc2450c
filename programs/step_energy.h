// Power and energy of a step on each of its GPUs, while it repeats.
//
//   const auto energy = energy_of(step.program, time.gpu, time.wall);
//   energy->power, energy->energy      // one GPU
//
// Method: the operations' energies above idle, and idle power during the whole wall time, in which
// the host also makes the GPU wait (EN9 of docs/model.md).
// Limits: collectives beside kernels count as if they ran after them. The host is not included.
#pragma once

#include <optional>

#include "model/energy/sum.h"
#include "programs/graph/program.h"
#include "programs/model_step.h"

namespace ridge::programs {

/// What the operations take above idle; empty if an operation has no time or no energy.
[[nodiscard]] std::optional<model::EnergySum> energy_sum(const Program& program,
                                                         const ProgramTime& time);

/// Empty if an operation has no time or no energy.
[[nodiscard]] std::optional<model::StepEnergy> energy_of(const Program& program,
                                                         const ProgramTime& time, Time wall);

/// What one image takes of a step whose sequences each have `step.images` of them: the kernels of the
/// encoder, and the tokens that stand for it in the model (EN9). Empty without images, with sound beside
/// them, and where the step has no energy.
[[nodiscard]] std::optional<Energy> energy_of_image(const ModelStep& step, const StepTime& time,
                                                    std::int64_t sequences);

}  // namespace ridge::programs
