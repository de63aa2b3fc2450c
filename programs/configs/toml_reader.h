// A decoder described by hand in a small TOML file, for your own model.
//
//   name = "mine"            vocabulary = 32000     hidden = 2048     layers = 24
//   heads = 16               kv_heads = 4           head_dim = 128    intermediate = 8192
//   # and if they differ from a Llama:
//   norm = "layer"           activation = "gelu"    gated = false     tied = true
//   bias = true              qk_norm = "head"       window = 4096     positions = 2048
//   [experts]
//   count = 64               active = 8             intermediate = 1024     shared = 0
//   [latent]                 # multi-head latent attention; head_dim includes the rotary part
//   q_rank = 1536            kv_rank = 512          rotary = 64       value_dim = 128
//
// Errors: InputError with file:line:column for an unknown key (with the nearest known one), a
// missing key, or a value of the wrong kind. Limits: all layers are the same.
#pragma once

#include <string>
#include <string_view>

#include "programs/configs/architecture.h"

namespace ridge::programs {

[[nodiscard]] Architecture read_model_toml(std::string_view text, const std::string& file);

}  // namespace ridge::programs
