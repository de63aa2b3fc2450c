// All parameters of the model in one list, made from the tables of the sets (`parameter.h`).
//
//   for (const ModelParameter& each : model_parameters()) ...   // each.field.path, each.origin
//   find_parameter("model.matmul.tensor.launch")->read(machine) // 2.5e-6
//
// Descriptions take their fields `model.*` from this list (`catalogue.h`), `ridge fit` takes its
// free parameters from it, and docs/gpu-files.md its table.
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
    /// Reads the value in base units; empty if the machine has no such set.
    std::function<std::optional<double>(const Machine&)> read;
    /// Writes the value into the machine's set; false if it has none.
    std::function<bool(Machine&, double)> write;
};

/// All parameters, in the order in which they are shown.
[[nodiscard]] const std::vector<ModelParameter>& model_parameters();

/// Only the fields, without functions, as a schema needs them.
[[nodiscard]] std::vector<hardware::Field> parameter_fields();

/// The parameters of an engine's kernel, by its section model.engine.LAW.SOFTWARE.KERNEL; none if there is
/// no such law. They last as long as the program, and read and write machines that have the kernel.
[[nodiscard]] std::vector<const ModelParameter*> engine_parameters(std::string_view section);

/// The parameter of this path, or nullptr.
[[nodiscard]] const ModelParameter* find_parameter(std::string_view path);

}  // namespace ridge::model
