// A Hugging Face config.json as an Architecture.
//
//   const Architecture a = read_config(read_text_file("config.json"), "config.json");
//
// Method: model_type names the family; each family's reader takes the field names and defaults of
// its configuration class in transformers 5.17. The text part of a multimodal config is read.
// Errors: InputError names the file and the field: a family that is not known (with the known
// ones), a missing field, a value of the wrong kind or beyond what a model can have.
// Limits: at most 1 MiB of text nested 200 deep, at most 10,000 layers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "programs/configs/architecture.h"

namespace ridge::programs {

[[nodiscard]] Architecture read_config(std::string_view text, const std::string& file);

/// The values of model_type that are understood.
[[nodiscard]] std::vector<std::string> known_families();

/// "silu", "gelu_new", ... as transformers names them.
[[nodiscard]] bool parse_activation(std::string_view text, Activation& activation);

}  // namespace ridge::programs
