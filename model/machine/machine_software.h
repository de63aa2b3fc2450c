// Which kernels a piece of software runs on a GPU, and how to resolve the GPU for other software.
//
//   const Machine& with = machine.software->with(SoftwareChoice::named("vllm-0.24.0"));
//   const KernelRule* rule = with.software->find({operation, with, mode});
//
// The rules come from [[kernel]] of software/NAME-VERSION/software.toml (`model/catalogue/software.h`):
// the software's own, then those of the software that it uses. The first that fits decides. A machine
// that no software was chosen for has no rules; it is resolved again when a choice is first asked for.
//
// A rule with a recipe (`engine_kernel.h`) is one kernel of an engine; it has a name, and may have a
// condition over the operation's fields.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "model/core/data_type.h"
#include "model/core/fields.h"
#include "model/core/implementation.h"
#include "model/core/software_choice.h"
#include "model/machine/engine_kernel.h"

namespace ridge::model {

struct Machine;

/// Kernels that software runs; `automatic` leaves the choice among a library's to the model.
struct KernelRule {
    std::vector<OperationKind> operations;   ///< empty: all that the implementation has
    std::vector<DataType> types;             ///< empty: all
    std::vector<std::int32_t> capabilities;  ///< 90 for 9.0; empty: all
    RunMode mode = RunMode::usual;           ///< usual: every mode
    Implementation implementation = Implementation::automatic;
    SoftwareChoice software;  ///< whose kernels they are
    SoftwareChoice fitted{};  ///< whose calls gave their parameters; the usual choice: their own
    KernelChoice name;        ///< as the engine calls it; the usual choice if it has no name
    std::shared_ptr<const EngineRecipe> recipe;       ///< of an engine's kernel; else null
    std::shared_ptr<const EngineExpressions> when{};  ///< its only expression; null: always
};

/// What a rule is looked up by.
struct RuleQuery {
    const Operation& operation;
    const Machine& machine;
    RunMode mode = RunMode::usual;
    KernelChoice kernel{};  ///< by name; the usual choice: the first that fits
};

class MachineSoftware {
  public:
    using Resolve = std::function<Machine(SoftwareChoice)>;

    /// `chosen`: the software with its version, or the usual choice. `fitted`: for software whose
    /// parameters were fitted to another version, that version.
    MachineSoftware(SoftwareChoice chosen, std::vector<KernelRule> rules,
                    std::vector<std::pair<SoftwareChoice, SoftwareChoice>> fitted, Resolve resolve);
    MachineSoftware(const MachineSoftware&) = delete;
    MachineSoftware& operator=(const MachineSoftware&) = delete;
    ~MachineSoftware();

    /// The GPU with this software; the usual choice gives every rule that names its mode. Each machine
    /// is resolved once and lasts as long as this. Safe from several threads. InputError when the
    /// software is unknown, with the nearest name.
    [[nodiscard]] const Machine& with(SoftwareChoice software) const;

    [[nodiscard]] SoftwareChoice chosen() const { return chosen_; }

    /// The first rule that fits; null if there is none. Of kernels with the name that is asked for,
    /// the first whose condition holds, or else the first for the operation, its type and the GPU.
    [[nodiscard]] const KernelRule* find(const RuleQuery& query) const;

    /// The names of the kernels for an operation of this type.
    [[nodiscard]] std::vector<std::string> names_of_kernels(OperationKind kind,
                                                            DataType type) const;

    [[nodiscard]] const std::vector<KernelRule>& rules() const { return rules_; }

    /// The version that the parameters of this software were fitted to, if it is another one.
    [[nodiscard]] SoftwareChoice fitted_version(SoftwareChoice software) const;

  private:
    SoftwareChoice chosen_;
    std::vector<KernelRule> rules_;
    std::vector<std::pair<SoftwareChoice, SoftwareChoice>> fitted_;
    Resolve resolve_;
    mutable std::mutex resolving_;
    mutable std::map<std::int64_t, std::unique_ptr<const Machine>> resolved_;
};

}  // namespace ridge::model
