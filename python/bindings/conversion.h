// Between Python's values and ridge's: JSON as dicts and lists, keyword arguments as fields.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "hardware/json.h"
#include "model/core/fields.h"

namespace ridge::python {

/// dict, list, str, int, float, bool, None; members keep their order.
[[nodiscard]] nanobind::object to_python(const Json& json);

/// Keyword arguments as the fields of an operation: counts from int, flags from bool, words and
/// texts from str. A name that no operation has, or one that this operation lacks, is an InputError
/// naming the nearest. None leaves a field at its default.
[[nodiscard]] model::Parameters parameters_of(model::OperationKind kind,
                                              const nanobind::dict& fields);

/// The field of that name, which must be one of the operation's.
[[nodiscard]] model::Field field_of(model::OperationKind kind, std::string_view name);

}  // namespace ridge::python
