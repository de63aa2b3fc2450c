// Predictions for columns of shapes: arrays in, arrays out, without Python objects in between.
#pragma once

#include <nanobind/nanobind.h>

namespace ridge::python {

/// Adds `predict_table` to the module.
void bind_table(nanobind::module_& module);

}  // namespace ridge::python
