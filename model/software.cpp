#include "model/software.h"

#include <algorithm>
#include <vector>

#include "model/core/fields.h"
#include "model/engine/predict.h"
#include "model/machine/machine_software.h"
#include "model/roof/band.h"

namespace ridge::model {
namespace {

/// "vllm-0.24.0 has no kernel X for matmul in fp8 that ridge knows (it has Y, Z)".
std::string unknown_kernel(const Operation& operation, KernelChoice kernel,
                           const MachineSoftware& software) {
    const OperationKind kind = kind_of(operation);
    const std::vector<std::string> names = software.names_of_kernels(kind, type_of(operation));
    std::string text = std::string(software.chosen().name()) + " has no kernel " +
                       std::string(kernel.name()) + " for " + std::string(info_of(kind).name) +
                       " in " + std::string(name_of(type_of(operation))) + " that ridge knows";
    std::string listed;
    for (const std::string& name : names) listed += (listed.empty() ? "" : ", ") + name;
    return listed.empty() ? text : text + " (it has " + listed + ")";
}

const EngineKernel* kernel_of(const KernelRule& rule, const Machine& machine) {
    const auto found =
        std::find_if(machine.engine.begin(), machine.engine.end(),
                     [&rule](const EngineKernel& each) { return each.recipe == rule.recipe; });
    return found == machine.engine.end() ? nullptr : &*found;
}

/// The software whose measured calls gave a kernel its parameters.
SoftwareChoice fitted_to(const KernelRule& rule, const MachineSoftware& software) {
    if (!rule.fitted.is_usual()) return rule.fitted;
    return rule.recipe == nullptr ? software.fitted_version(rule.software) : rule.software;
}

/// Gives the implementation or the engine's kernel, and says whose it is. Sets the refusal if the
/// software has none for the operation.
void choose_implementation(const Operation& operation, const Execution& asked, SoftwareRun& run) {
    const MachineSoftware& software = *run.machine->software;
    const KernelRule* const rule = software.find({.operation = operation,
                                                  .machine = *run.machine,
                                                  .mode = asked.mode,
                                                  .kernel = asked.kernel});
    if (rule == nullptr && !asked.kernel.is_usual()) {
        run.refusal = unknown_kernel(operation, asked.kernel, software);
        return;
    }
    if (rule == nullptr) {
        if (run.asked.is_usual()) return;
        run.refusal = std::string(run.asked.name()) + " has no kernels for " +
                      std::string(info_of(kind_of(operation)).name) + " that ridge knows";
        return;
    }
    run.execution.implementation = rule->implementation;
    if (rule->recipe != nullptr) run.kernel = kernel_of(*rule, *run.machine);
    if (rule->recipe == nullptr && rule->when != nullptr) run.picks = rule->software;
    if (run.kernel != nullptr) run.refusal = engine_refusal(operation, *run.kernel, *run.machine);
    if (run.asked.is_usual()) return;
    if (rule->software != run.asked) run.used = rule->software;
    const SoftwareChoice fitted = fitted_to(*rule, software);
    if (fitted != rule->software) run.fitted = fitted;
}

}  // namespace

const Machine& machine_with(const Machine& machine, SoftwareChoice software) {
    const bool own = !software.is_usual() && machine.software->chosen() == software;
    return own ? machine : machine.software->with(software);
}

SoftwareRun run_of(const Operation& operation, const Execution& execution, const Machine& machine) {
    SoftwareRun run{.execution = execution,
                    .machine = nullptr,
                    .refusal = {},
                    .asked = {},
                    .used = {},
                    .fitted = {},
                    .picks = {}};
    run.execution.software = {};
    run.execution.kernel = {};
    run.execution.mode = RunMode::usual;
    if (execution.mode == RunMode::graph) run.execution.launch = LaunchMode::graph;
    if (!machine.software) {
        run.refusal = "this GPU was described without its files of software";
        return run;
    }
    if (!execution.kernel.is_usual() && execution.software.is_usual()) {
        run.refusal = "kernel " + std::string(execution.kernel.name()) +
                      " belongs to an engine: name it in the field software";
        return run;
    }
    run.machine = &machine_with(machine, execution.software);
    run.asked = run.machine->software->chosen();
    if (execution.implementation != Implementation::automatic) return run;
    choose_implementation(operation, execution, run);
    if (!run.refusal.empty()) run.machine = nullptr;
    // A version that no file describes runs as the nearest one, unless this kernel was measured in it.
    const std::string_view chosen = run.asked.name();
    const std::string_view wanted = execution.software.name();
    const bool of_family = chosen.size() > wanted.size() && chosen.starts_with(wanted);
    if (wanted.empty() || chosen == wanted || of_family) return run;
    if (run.fitted.is_usual()) run.fitted = run.asked;
    if (run.fitted == execution.software) run.fitted = {};
    run.asked = execution.software;
    return run;
}

void note_software(const SoftwareRun& run, Prediction& prediction) {
    if (!run.picks.is_usual()) {
        prediction.note(note::PickedImplementation{.software = run.picks,
                                                   .implementation = run.execution.implementation});
    }
    if (!run.used.is_usual()) {
        widen_for_stand_in(prediction, StandIn::other_software);
        prediction.note(note::OtherSoftware{.asked = run.asked, .used = run.used});
    }
    if (!run.fitted.is_usual()) {
        const SoftwareChoice of = run.used.is_usual() ? run.asked : run.used;
        widen_for_stand_in(prediction, StandIn::other_version);
        prediction.note(note::OtherVersion{.asked = of, .fitted = run.fitted});
    }
    // Outside of the shapes that were validated, an engine runs other kernels than inside.
    const Grounds& evidence = prediction.evidence;
    const bool chosen = !run.asked.is_usual() && evidence.chip >= ChipEvidence::relative;
    if (chosen && evidence.shape == ShapeEvidence::outside &&
        evidence.kernel == KernelEvidence::same) {
        widen_for_stand_in(prediction, StandIn::other_software);
    }
}

}  // namespace ridge::model
