#include "programs/configs/config_families.h"

#include <algorithm>

#include "programs/configs/config_reader.h"

namespace ridge::programs {
Activation activation_of(const ConfigFields& fields, std::string_view name,
                         std::string_view otherwise) {
    const std::string text = fields.text_or(name, otherwise);
    Activation activation = Activation::silu;
    if (!parse_activation(text, activation)) {
        fields.fail(name, ": unknown activation '" + text + "'");
    }
    return activation;
}

std::int64_t quotient(const ConfigFields& fields, std::int64_t whole, std::int64_t parts,
                      std::string_view name) {
    if (parts < 1 || whole % parts != 0) {
        fields.fail(name, " must divide hidden_size, " + std::to_string(whole));
    }
    return whole / parts;
}

Architecture common_config(const ConfigFields& fields) {
    Architecture a;
    a.vocabulary = fields.count("vocab_size");
    a.hidden = fields.count("hidden_size");
    a.longest = fields.count_or("max_position_embeddings", 0);
    a.tied = fields.flag_or("tie_word_embeddings", false);
    a.attention_dropout = fields.number_or("attention_dropout", 0.0);
    return a;
}

LayerSpec common_layer(const ConfigFields& fields, const Architecture& a) {
    LayerSpec layer;
    AttentionSpec& attention = layer.attention;
    attention.heads = fields.count("num_attention_heads");
    attention.kv_heads = fields.count_or("num_key_value_heads", attention.heads);
    attention.head_dim = fields.has("head_dim")
                             ? fields.count("head_dim")
                             : quotient(fields, a.hidden, attention.heads, "num_attention_heads");
    attention.value_dim = attention.head_dim;
    attention.rotary_dim = attention.head_dim;
    layer.feed_forward.intermediate = fields.count("intermediate_size");
    layer.feed_forward.activation = activation_of(fields, "hidden_act", "silu");
    return layer;
}

void set_layers(const ConfigFields& fields, Architecture& a, std::vector<LayerSpec> kinds,
                std::string_view name) {
    const std::int64_t layers = fields.count(name);
    if (layers < 1 || layers > most_layers) fields.fail(name, " must be 1 to 10000");
    a.kinds = std::move(kinds);
    a.layer_kinds.assign(static_cast<std::size_t>(layers), 0);
}

void drop_unused_kinds(Architecture& a) {
    if (a.kinds.size() != 2) return;
    if (a.layers_of(1) == 0) {
        a.kinds.pop_back();
    } else if (a.layers_of(0) == 0) {
        a.kinds.erase(a.kinds.begin());
        std::fill(a.layer_kinds.begin(), a.layer_kinds.end(), std::uint8_t{0});
    }
}

LayerSpec qwen3_layer(const ConfigFields& fields, const Architecture& a) {
    LayerSpec layer = common_layer(fields, a);
    layer.attention.qkv_bias = fields.flag_or("attention_bias", false);
    layer.attention.output_bias = layer.attention.qkv_bias;
    layer.attention.qk_norm = QkNorm::head;
    return layer;
}

}  // namespace ridge::programs
