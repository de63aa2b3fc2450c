// The fields of descriptions with the model's: facts about devices, parameters, corrections.
//
//   schema().find("model.matmul.tensor.k_step")
//
// Limits: corrections have no range; their texts are checked when a class is first used.
#pragma once

#include <string_view>

#include "hardware/schema.h"

namespace ridge::model {

/// The fields of `hardware::device_schema`, followed by those of the section `model`.
[[nodiscard]] const hardware::Schema& schema();

/// The section of the parameters.
inline constexpr std::string_view model_section = "model";

/// Its part that corrects predictions by the residuals of measured shapes.
inline constexpr std::string_view correction_section = "model.residual";

/// Whether a field states a correction: of that section, or of an engine's kernel.
[[nodiscard]] bool is_correction(std::string_view path);

}  // namespace ridge::model
