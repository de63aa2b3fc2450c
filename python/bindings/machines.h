// The GPUs that Python asks for, resolved once each and kept for the life of the process.
#pragma once

#include <string_view>

#include "model/machine/machine.h"

namespace ridge::python {

/// InputError names the nearest when the name is unknown.
[[nodiscard]] const model::Machine& machine_of(std::string_view gpu, bool datasheet);

}  // namespace ridge::python
