// Reads a Hugging Face config.json as an Architecture.
//
//   const Architecture a = read_config(read_text_file("config.json"), "config.json");
//
// Method: model_type gives the family; each family's reader uses the field names and defaults of
// its configuration class in transformers 5.17. Of a multimodal config, the text part is read.
// Errors: InputError names the file and the field: an unknown family (with the known ones), a
// missing field, or a value of the wrong kind or larger than in any model.
// Limits: at most 1 MiB of text nested 200 deep, at most 10,000 layers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "programs/configs/architecture.h"

namespace ridge::programs {

[[nodiscard]] Architecture read_config(std::string_view text, const std::string& file);

/// The supported values of model_type.
[[nodiscard]] std::vector<std::string> known_families();

/// "silu", "gelu_new", ...: the names in transformers.
[[nodiscard]] bool parse_activation(std::string_view text, Activation& activation);

}  // namespace ridge::programs
