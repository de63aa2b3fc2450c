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
// torchao. Limits: one format for products and one for experts; other mixtures are errors that say so.
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
    /// Modules of some layer, or of any (-1), with a format of their own.
    struct Part {
        std::int64_t layer = -1;
        std::string module{};  ///< a pattern, or its beginning
        WeightFormat format{};
    };
    std::string kind;                       ///< "fp8", "modelopt", ...
    WeightFormat weights{};                 ///< of products and experts
    std::optional<WeightFormat> experts{};  ///< of experts, if it is another
    std::vector<Part> parts{};              ///< of other modules, if there are several formats
    bool listed = false;                    ///< modules without a part keep the model's type
    std::vector<std::string> kept{};        ///< modules that keep the model's type

    /// Whether the module of this path in this layer (-1: outside the layers) keeps its type.
    [[nodiscard]] bool excludes(std::string_view path, std::int64_t layer) const;
    /// The format of its weights; nothing if it keeps the model's type.
    [[nodiscard]] std::optional<WeightFormat> of(WeightRole role, std::string_view path,
                                                 std::int64_t layer) const;
};

/// InputError names the field. `other` is the content of hf_quant_config.json, if there is one.
[[nodiscard]] std::optional<StoredFormat> stored_format(const ConfigSource& source,
                                                        const Json* other);

}  // namespace ridge::programs
