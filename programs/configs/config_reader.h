// Reads a Hugging Face config.json, or a small TOML, as an Architecture.
//
//   const Architecture a = read_config(read_text_file("config.json"), "config.json");
//   const Architecture b = read_config(text, "config.json", read_family(rules, "my-family.toml"));
// `quantisation` is the text of hf_quant_config.json, if the folder has one.
//
// Method: model_type, or else architectures, gives the family, whose file says which fields are read
// and what their defaults are (transformers 5.17). Of a multimodal config the fields of text_config
// come first. The text is read as Python does, with Infinity and NaN, and with comments.
// Errors: InputError names the file and the field: an unknown family (with the known ones), a missing
// field, a value of the wrong kind or larger than in any model, or a field that the family does not
// know and that may change the cost.
// Limits: at most 1 MiB of text nested 200 deep, at most 10,000 layers of 200 kinds.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "programs/configs/architecture.h"

namespace ridge::programs {

[[nodiscard]] Architecture read_config(std::string_view text, const std::string& file,
                                       std::shared_ptr<const Family> family = nullptr,
                                       std::string_view quantisation = {});

/// The same from TOML; without `model_type` its family is "toml".
[[nodiscard]] Architecture read_model_toml(std::string_view text, const std::string& file,
                                           std::shared_ptr<const Family> family = nullptr);

}  // namespace ridge::programs
