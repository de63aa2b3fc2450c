// Machines whose fitted parameters stand in a file of the tests, so that a new calibration does not change
// them: for tables of what the laws say.
//
//   const Machine& gpu = frozen_machine("h200-sxm", "vllm-0.24.0");   // "": no software chosen
//
// Method: the machine of the catalogue without residual corrections; each of its parameters that the file
// names for it (tests/frozen/data/parameters.txt.gz) takes the value there. `frozen_text` writes that
// file from the values of today.
// Limits: facts of the chip (hardware/gpus) and values of software files that are not parameters are today's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/machine/machine.h"

namespace ridge::test {

struct FrozenName {
    std::string gpu;
    std::string software;
};

/// The machines of the file.
[[nodiscard]] std::span<const FrozenName> frozen_names();

[[nodiscard]] const model::Machine& frozen_machine(const std::string& gpu,
                                                   const std::string& software);

/// The values that the file has for a GPU without software, by their paths.
[[nodiscard]] std::vector<double> frozen_values(const std::string& gpu);

[[nodiscard]] std::string frozen_text();

}  // namespace ridge::test
