#include "model/software.h"

#include "model/core/fields.h"
#include "model/machine/machine_software.h"
#include "model/roof/band.h"

namespace ridge::model {
namespace {

/// Gives the implementation, and says whose it is. False if the software has none for the operation.
bool choose_implementation(const Operation& operation, RunMode mode, SoftwareRun& run) {
    const MachineSoftware& software = *run.machine->software;
    const KernelRule* const rule = software.find(kind_of(operation), type_of(operation),
                                                 run.machine->compute_capability, mode);
    if (rule == nullptr) return run.asked.is_usual();
    run.execution.implementation = rule->implementation;
    if (run.asked.is_usual()) return true;
    if (rule->software != run.asked) run.used = rule->software;
    const SoftwareChoice fitted = software.fitted_version(rule->software);
    if (fitted != rule->software) run.fitted = fitted;
    return true;
}

}  // namespace

SoftwareRun run_of(const Operation& operation, const Execution& execution, const Machine& machine) {
    SoftwareRun run{.execution = execution,
                    .machine = nullptr,
                    .refusal = {},
                    .asked = {},
                    .used = {},
                    .fitted = {}};
    run.execution.software = {};
    run.execution.mode = RunMode::usual;
    if (execution.mode == RunMode::graph) run.execution.launch = LaunchMode::graph;
    if (!machine.software) {
        run.refusal = "this GPU was described without its files of software";
        return run;
    }
    run.machine = &machine.software->with(execution.software);
    run.asked = run.machine->software->chosen();
    if (execution.implementation != Implementation::automatic) return run;
    const bool found = choose_implementation(operation, execution.mode, run);
    if (!found) {
        run.refusal = std::string(run.asked.name()) + " has no kernels for " +
                      std::string(info_of(kind_of(operation)).name) + " that ridge knows";
        run.machine = nullptr;
    }
    return run;
}

void note_software(const SoftwareRun& run, Prediction& prediction) {
    if (!run.used.is_usual()) {
        widen_for_stand_in(prediction, StandIn::other_software);
        prediction.note(note::OtherSoftware{.asked = run.asked, .used = run.used});
    }
    if (!run.fitted.is_usual()) {
        const SoftwareChoice of = run.used.is_usual() ? run.asked : run.used;
        widen_for_stand_in(prediction, StandIn::other_version);
        prediction.note(note::OtherVersion{.asked = of, .fitted = run.fitted});
    }
}

}  // namespace ridge::model
