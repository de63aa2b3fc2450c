// The rules of a software: what each part of a model becomes when this software runs it.
//
//   const Procedures& all = procedures_of(*architecture.rules, Software::serving);
//
// Method: rules/NAME.toml holds procedures (families/procedure.h) for the parts that the family files
// name: norm, residual, rotate, cache, scores, gate, experts, ... Together with a family's own
// procedures they are compiled once and kept with the family.
#pragma once

#include <span>
#include <vector>

#include "hardware/embedded.h"
#include "programs/families/procedure.h"
#include "programs/graph/program.h"
#include "programs/software/request.h"

namespace ridge::programs {

/// The embedded rule files, sorted by path; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_rules();

struct Rules {
    std::vector<ProcedureText> run;
    bool merges = false;      ///< products of one group are one product
    bool rows_apart = false;  ///< the last rows of sequences are separate products with the head
};
[[nodiscard]] const Rules& rules_of(Software software);

/// InputError with file and line if the family's procedures do not fit the software's rules.
[[nodiscard]] const Procedures& procedures_of(const Family& family, Software software);

/// Compiles a family's procedures for every software, for errors before anything is asked.
void check_procedures(const Family& family);

/// The modules that the procedures name. InputError for a name that is none.
[[nodiscard]] std::vector<Module> modules_of(const Procedures& procedures);

}  // namespace ridge::programs
