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

namespace ridge::programs {

/// What the operations take above idle; empty if an operation has no time or no energy.
[[nodiscard]] std::optional<model::EnergySum> energy_sum(const Program& program,
                                                         const ProgramTime& time);

/// Empty if an operation has no time or no energy.
[[nodiscard]] std::optional<model::StepEnergy> energy_of(const Program& program,
                                                         const ProgramTime& time, Time wall);

}  // namespace ridge::programs
