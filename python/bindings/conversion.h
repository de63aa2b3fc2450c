// Converts between Python and ridge: JSON to dicts and lists, keyword arguments to fields.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "hardware/json.h"
#include "model/core/fields.h"

namespace ridge::python {

/// Converts to dict, list, str, int, float, bool or None; members keep their order.
[[nodiscard]] nanobind::object to_python(const Json& json);

/// Converts keyword arguments to the fields of an operation: counts from int, flags from bool,
/// words and texts from str. None leaves a field at its default. InputError, with the nearest name,
/// for a name that this operation does not have.
[[nodiscard]] model::Parameters parameters_of(model::OperationKind kind,
                                              const nanobind::dict& fields);

/// The operation's field of this name. InputError if it has none.
[[nodiscard]] model::Field field_of(model::OperationKind kind, std::string_view name);

}  // namespace ridge::python
