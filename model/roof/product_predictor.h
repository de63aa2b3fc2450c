// The function that predicts a matrix product. It is passed as an argument, because operations do
// not know each other.
#pragma once

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

using ProductPredictor = Outcome (*)(const Matmul& product, const Execution& execution,
                                     const Machine& machine);

}  // namespace ridge::model
