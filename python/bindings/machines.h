// The GPUs that Python asks for, each resolved once and kept for the life of the process.
#pragma once

#include <string_view>

#include "hardware/catalogue.h"
#include "model/machine/machine.h"

namespace ridge::python {

/// The part of a description that the arguments `datasheet` and `analytic` select.
[[nodiscard]] constexpr hardware::View view_of(bool datasheet, bool analytic) {
    if (datasheet) return hardware::View::datasheet;
    return analytic ? hardware::View::analytic : hardware::View::calibrated;
}

/// InputError, with the nearest name, if the GPU is unknown.
[[nodiscard]] const model::Machine& machine_of(std::string_view gpu, hardware::View view);

}  // namespace ridge::python
