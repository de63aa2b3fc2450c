// What a file of software/ says about a version of a library, framework or engine.
//
//   software/pytorch-2.11/software.toml
//     schema = 1
//     kind = "software"
//     name = "pytorch-2.11"
//     needs = ["architecture.compute_capability"]      # facts without which a chip cannot run it
//     uses = ["cublaslt-13.0", "nccl-2.29.2"]          # versions of other software below it
//     inherits = "pytorch-2.10"                        # optional: has what this version does not state
//     parameters = ["model.torch"]                     # sections and fields that are this software's
//
//     program = "transformers"                         # optional: how it runs whole models
//     [[kernel]]                                       # what it runs; the first that fits decides
//     operations = ["matmul", "attention"]             # optional, as are types and capabilities ("9.0")
//     mode = "eager"                                   # optional: in which mode (eager, compiled, graph)
//     implementation = "torch"                         # "auto": the model chooses among the library's
//     name = "torch.nn.functional.linear"              # optional: how the engine calls it
//     when = "m <= 16"                                 # optional: a condition over the fields
//
// or, in the place of `implementation`, a law with its parameters and dispatch
// (`model/machine/engine_kernel.h`),
//
// followed by [sources] and the costs of its code, the same on every chip. Two versions of one family
// (`pytorch`) stand side by side. Of each family the newest version counts, unless another is asked
// for or the chosen software uses another (`stack_of`).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/loader.h"
#include "hardware/shared_text.h"

namespace ridge::model {

struct Software {
    std::string name;    ///< "pytorch-2.11"
    std::string family;  ///< "pytorch"
    std::vector<std::string> needs;
    std::vector<std::string> uses;
    std::vector<std::string> parameters;
    std::string
        program;  ///< how it runs a model: transformers, compiled or serving; "" if it does not
    std::string inherits;
    std::string file;    ///< where it stands
    std::string origin;  ///< "built in" or the user's file
    SharedText text;     ///< its content
};

/// The form of such files.
[[nodiscard]] const hardware::Form& software_form();

/// Reads the header. InputError with all problems.
[[nodiscard]] Software read_software(SharedText text, const std::string& file,
                                     const std::string& origin);

/// "pytorch" of "pytorch-2.11", and "2.11". Without a version the second is empty.
struct SoftwareName {
    std::string_view family;
    std::string_view version;
};
[[nodiscard]] SoftwareName split_name(std::string_view name);

/// Whether a version is older: numbers count as numbers, and "1.3.0rc2" comes before "1.3.0".
[[nodiscard]] bool is_older(std::string_view a, std::string_view b);

/// The software of this name, or the newest version of this family; for a version without a
/// file, the nearest. InputError with the nearest name if there is none.
[[nodiscard]] const Software& find_software(std::span<const Software> all, std::string_view name);

/// Software whose parameters count together, and the other versions of each, whose calibrations serve
/// where it has none: older ones first, the newest of them first.
struct StackPart {
    const Software* software = nullptr;
    std::vector<const Software*> others;
};

/// The newest version of each family, and the older ones that it uses. `chosen`, and what that uses,
/// take the place of other versions of their families; empty: nothing is chosen.
[[nodiscard]] std::vector<StackPart> stack_of(std::span<const Software> all,
                                              std::string_view chosen);

/// The fields and sections that two lists have in common.
[[nodiscard]] std::vector<std::string> common_paths(std::span<const std::string> a,
                                                    std::span<const std::string> b);

}  // namespace ridge::model
