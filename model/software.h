// What the fields `software` and `mode` mean for one operation on a GPU.
//
//   const SoftwareRun run = run_of(operation, execution, machine);
//   if (run.machine == nullptr) return NotModelled{run.refusal};
//   Outcome outcome = predict(operation, run.execution, *run.machine);
//
// The software's rules (`model/machine/machine_software.h`) give the implementation, unless `impl` is
// given; the machine has the software's parameters; mode graph sets launch = graph. Nothing is left to
// choose in `execution`. A rule may name a kernel of an engine (`model/machine/engine_kernel.h`), as
// the field `kernel` may. All of these fields unset leave everything as it is.
#pragma once

#include <string>

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

struct SoftwareRun {
    Execution execution;
    const Machine* machine = nullptr;      ///< null: not modelled
    std::string refusal;                   ///< why
    const EngineKernel* kernel = nullptr;  ///< of that machine, if an engine's kernel runs
    SoftwareChoice asked;   ///< with its version; the usual choice if none was asked for
    SoftwareChoice used;    ///< whose kernels run, if it is other software
    SoftwareChoice fitted;  ///< the version that the parameters were fitted to, if another
    SoftwareChoice picks;   ///< whose rule chose the implementation by the shape, if one did
};

[[nodiscard]] constexpr bool is_chosen(const Execution& execution) {
    return !execution.software.is_usual() || execution.mode != RunMode::usual ||
           !execution.kernel.is_usual();
}

/// The machine for this software: itself, if that was chosen for it, with whatever values it has.
[[nodiscard]] const Machine& machine_with(const Machine& machine, SoftwareChoice software);

/// InputError when the software is unknown, with the nearest name.
[[nodiscard]] SoftwareRun run_of(const Operation& operation, const Execution& execution,
                                 const Machine& machine);

/// Notes on a prediction whose kernels or fits are not those of the software that was asked for.
void note_software(const SoftwareRun& run, Prediction& prediction);

}  // namespace ridge::model
