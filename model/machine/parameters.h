// All parameters of the model in one list, made from the tables of the sets (`parameter.h`).
//
//   for (const ModelParameter& each : model_parameters()) ...   // each.field.path, each.origin
//   find_parameter("model.matmul.tensor.launch")->read(machine) // 2.5e-6
//
// Descriptions take their fields `model.*` from here (`catalogue.h`), `ridge fit` its free
// parameters, and docs/gpu-files.md its list.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/schema.h"
#include "model/machine/machine.h"
#include "model/machine/parameter.h"

namespace ridge::model {

struct ModelParameter {
    hardware::Field field;  ///< path, kind, dimension, meaning and range
    std::string_view section;
    std::string_view name;  ///< within the section
    Origin origin = Origin::none;
    /// In base units; empty where the machine has no such set.
    std::function<std::optional<double>(const Machine&)> read;
    /// Into the set that the machine has; false where it has none.
    std::function<bool(Machine&, double)> write;
};

/// All of them, in the order in which they are shown.
[[nodiscard]] const std::vector<ModelParameter>& model_parameters();

/// The fields alone, which a schema needs: without functions.
[[nodiscard]] std::vector<hardware::Field> parameter_fields();

/// The parameter of this path, or nullptr.
[[nodiscard]] const ModelParameter* find_parameter(std::string_view path);

}  // namespace ridge::model
