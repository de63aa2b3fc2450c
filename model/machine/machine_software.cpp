#include "model/machine/machine_software.h"

#include <algorithm>

#include "model/machine/machine.h"

namespace ridge::model {
namespace {

template <class Value>
bool allows(const std::vector<Value>& listed, Value value) {
    return listed.empty() || std::find(listed.begin(), listed.end(), value) != listed.end();
}

/// Eager kernels are also what a graph replays, and what runs if no mode is asked for.
bool runs_in(RunMode rule, RunMode asked) {
    if (rule == RunMode::usual || rule == asked) return true;
    return rule == RunMode::eager && asked != RunMode::compiled;
}

}  // namespace

MachineSoftware::MachineSoftware(SoftwareChoice chosen, std::vector<KernelRule> rules,
                                 std::vector<std::pair<SoftwareChoice, SoftwareChoice>> fitted,
                                 Resolve resolve)
    : chosen_(chosen),
      rules_(std::move(rules)),
      fitted_(std::move(fitted)),
      resolve_(std::move(resolve)) {}

MachineSoftware::~MachineSoftware() = default;

const Machine& MachineSoftware::with(SoftwareChoice software) const {
    const std::lock_guard lock(resolving_);
    auto& kept = resolved_[software.number()];
    if (!kept) kept = std::make_unique<const Machine>(resolve_(software));
    return *kept;
}

const KernelRule* MachineSoftware::find(OperationKind kind, DataType type, std::int32_t capability,
                                        RunMode mode) const {
    for (const KernelRule& rule : rules_) {
        const bool possible =
            rule.implementation == Implementation::automatic || has(kind, rule.implementation);
        if (possible && runs_in(rule.mode, mode) && allows(rule.operations, kind) &&
            allows(rule.types, type) && allows(rule.capabilities, capability)) {
            return &rule;
        }
    }
    return nullptr;
}

SoftwareChoice MachineSoftware::fitted_version(SoftwareChoice software) const {
    for (const auto& [asked, fitted] : fitted_) {
        if (asked == software) return fitted;
    }
    return software;
}

}  // namespace ridge::model
