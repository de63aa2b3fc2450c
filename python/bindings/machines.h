// The GPUs that Python asks for, resolved once each and kept for the life of the process.
#pragma once

#include <string_view>

#include "hardware/catalogue.h"
#include "model/machine/machine.h"

namespace ridge::python {

/// What the arguments `datasheet` and `analytic` leave of a description.
[[nodiscard]] constexpr hardware::View view_of(bool datasheet, bool analytic) {
    if (datasheet) return hardware::View::datasheet;
    return analytic ? hardware::View::analytic : hardware::View::calibrated;
}

/// InputError names the nearest when the name is unknown.
[[nodiscard]] const model::Machine& machine_of(std::string_view gpu, hardware::View view);

}  // namespace ridge::python
