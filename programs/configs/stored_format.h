// How a checkpoint stores its weights: the config's quantization_config, or hf_quant_config.json.
//
//   const std::optional<StoredFormat> format = stored_format(source);
//   format->weights.quantisation;     // Quantisation::fp8_block
//   format->excludes("self_attn.q_proj", 3);
//
// Method: quant_method and its fields give the type of the products' weights, the size of groups and
// the bytes of scales; a list names modules that keep the model's type. A kind that ridge does not
// know is an error, so that nothing is taken for bf16 in silence.
// Read: fp8 (per tensor or by blocks), compressed-tensors, modelopt, awq, gptq, bitsandbytes, mxfp4,
// torchao. Limits: one format for all products; mixed precision is an error that says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "programs/configs/config_fields.h"
#include "programs/configs/weight_format.h"

namespace ridge::programs {

struct StoredFormat {
    std::string kind;                 ///< "fp8", "modelopt", ...
    WeightFormat weights{};           ///< of products and experts
    std::vector<std::string> kept{};  ///< modules that keep the model's type

    /// Whether the module of this path in this layer (-1: outside the layers) keeps its type.
    [[nodiscard]] bool excludes(std::string_view path, std::int64_t layer) const;
};

/// InputError names the field. `other` is the content of hf_quant_config.json, if there is one.
[[nodiscard]] std::optional<StoredFormat> stored_format(const ConfigSource& source,
                                                        const Json* other);

}  // namespace ridge::programs
