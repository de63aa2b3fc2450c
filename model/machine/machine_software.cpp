#include "model/machine/machine_software.h"

#include <algorithm>
#include <optional>

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

bool is_for(const KernelRule& rule, OperationKind kind, DataType type) {
    const bool possible = rule.recipe != nullptr ||
                          rule.implementation == Implementation::automatic ||
                          has(kind, rule.implementation);
    return possible && allows(rule.operations, kind) && allows(rule.types, type);
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

const KernelRule* MachineSoftware::find(const RuleQuery& query) const {
    const OperationKind kind = kind_of(query.operation);
    const DataType type = type_of(query.operation);
    std::optional<EngineSymbols> symbols;
    const auto holds = [&](const EngineExpressions* when) {
        if (when == nullptr) return true;
        if (!symbols) symbols.emplace(query.operation, query.machine);
        return when->value(when->last(), *symbols) != 0;
    };
    const KernelRule* named = nullptr;
    for (const KernelRule& rule : rules_) {
        if (!is_for(rule, kind, type) || !runs_in(rule.mode, query.mode) ||
            !allows(rule.capabilities, query.machine.compute_capability)) {
            continue;
        }
        if (!query.kernel.is_usual() && rule.name != query.kernel) continue;
        if (holds(rule.when.get())) return &rule;
        if (named == nullptr && !query.kernel.is_usual()) named = &rule;
    }
    return named;
}

std::vector<std::string> MachineSoftware::names_of_kernels(OperationKind kind,
                                                           DataType type) const {
    std::vector<std::string> names;
    for (const KernelRule& rule : rules_) {
        if (rule.name.is_usual() || !is_for(rule, kind, type)) continue;
        const std::string name(rule.name.name());
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

SoftwareChoice MachineSoftware::fitted_version(SoftwareChoice software) const {
    for (const auto& [asked, fitted] : fitted_) {
        if (asked == software) return fitted;
    }
    return software;
}

}  // namespace ridge::model
