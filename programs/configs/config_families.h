// The readers of the model families, and their shared parts.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "programs/configs/architecture.h"
#include "programs/configs/config_fields.h"

namespace ridge::programs {

[[nodiscard]] Activation activation_of(const ConfigFields& fields, std::string_view name,
                                       std::string_view otherwise);
/// whole / parts; reports an error for field `name` if the division leaves a remainder.
[[nodiscard]] std::int64_t quotient(const ConfigFields& fields, std::int64_t whole,
                                    std::int64_t parts, std::string_view name);
/// The fields that nearly all families share: sizes and RMS norms; and a layer with grouped heads
/// and a gated mlp.
[[nodiscard]] Architecture common_config(const ConfigFields& fields);
[[nodiscard]] LayerSpec common_layer(const ConfigFields& fields, const Architecture& a);
[[nodiscard]] LayerSpec qwen3_layer(const ConfigFields& fields, const Architecture& a);
/// Sets `kinds`; all layers are of the first kind.
void set_layers(const ConfigFields& fields, Architecture& a, std::vector<LayerSpec> kinds,
                std::string_view name = "num_hidden_layers");
void drop_unused_kinds(Architecture& a);

/// Layers of two kinds, full and sliding: given by layer_types, or else by `is_sliding(layer)`.
template <class Rule>
void set_windows(const ConfigFields& fields, Architecture& a, const LayerSpec& layer,
                 std::int64_t window, Rule is_sliding) {
    LayerSpec sliding = layer;
    sliding.attention.window = window;
    set_layers(fields, a, {layer, sliding});
    const Json* types = fields.list("layer_types");
    if (types != nullptr && types->items().size() != a.layer_kinds.size()) {
        fields.fail("layer_types", " must have one entry per layer");
    }
    for (std::size_t i = 0; i < a.layer_kinds.size(); ++i) {
        bool slides = is_sliding(i);
        if (types != nullptr) {
            const std::string* type = types->items()[i].if_text();
            if (type == nullptr || (*type != "sliding_attention" && *type != "full_attention")) {
                fields.fail("layer_types",
                            " must contain only full_attention or sliding_attention");
            }
            slides = *type == "sliding_attention";
        }
        a.layer_kinds[i] = slides && window > 0 ? 1 : 0;
    }
    drop_unused_kinds(a);
}

[[nodiscard]] Architecture read_llama(const ConfigFields& fields);
[[nodiscard]] Architecture read_mistral(const ConfigFields& fields);
[[nodiscard]] Architecture read_qwen2(const ConfigFields& fields);
[[nodiscard]] Architecture read_qwen3(const ConfigFields& fields);
[[nodiscard]] Architecture read_gemma(const ConfigFields& fields);
[[nodiscard]] Architecture read_gemma2(const ConfigFields& fields);
[[nodiscard]] Architecture read_gemma3(const ConfigFields& fields);
[[nodiscard]] Architecture read_phi(const ConfigFields& fields);
[[nodiscard]] Architecture read_phi3(const ConfigFields& fields);
[[nodiscard]] Architecture read_gpt2(const ConfigFields& fields);
[[nodiscard]] Architecture read_gpt_neox(const ConfigFields& fields);
[[nodiscard]] Architecture read_mixtral(const ConfigFields& fields);
[[nodiscard]] Architecture read_olmoe(const ConfigFields& fields);
[[nodiscard]] Architecture read_olmo2(const ConfigFields& fields);
[[nodiscard]] Architecture read_qwen2_moe(const ConfigFields& fields);
[[nodiscard]] Architecture read_qwen3_moe(const ConfigFields& fields);
[[nodiscard]] Architecture read_deepseek_v2(const ConfigFields& fields);
[[nodiscard]] Architecture read_deepseek_v3(const ConfigFields& fields);

}  // namespace ridge::programs
