// The GPUs that Python asks for, each resolved once and kept for the life of the process.
#pragma once

#include <string_view>

#include "model/catalogue/catalogue.h"
#include "model/machine/machine.h"

namespace ridge::python {

/// The part of a description that the arguments `datasheet` and `analytic` select.
[[nodiscard]] constexpr model::View view_of(bool datasheet, bool analytic) {
    if (datasheet) return model::View::datasheet;
    return analytic ? model::View::analytic : model::View::calibrated;
}

/// InputError, with the nearest name, if the GPU is unknown.
[[nodiscard]] const model::Machine& machine_of(std::string_view gpu, model::View view);

}  // namespace ridge::python
