// Families without experts.
#include "programs/configs/config_families.h"

namespace ridge::programs {
namespace {

double partial_rotary(const ConfigFields& fields, std::string_view name, double otherwise) {
    double share = fields.number_or(name, otherwise);
    if (const Json* rope = fields.json().find("rope_parameters"); rope != nullptr) {
        share = ConfigFields(*rope, fields.file()).number_or("partial_rotary_factor", share);
    }
    if (!(share >= 0.0 && share <= 1.0)) fields.fail(name, " must be 0 to 1");
    return share;
}

std::int64_t rotary_part(std::int64_t head_dim, double share) {
    return static_cast<std::int64_t>(static_cast<double>(head_dim) * share);
}

/// Qwen uses a sliding window only if use_sliding_window says so, and only from layer
/// max_window_layers on.
void set_qwen_windows(const ConfigFields& fields, Architecture& a, const LayerSpec& layer) {
    const bool uses = fields.flag_or("use_sliding_window", false);
    const auto first = static_cast<std::size_t>(fields.count_or("max_window_layers", 28));
    set_windows(fields, a, layer, uses ? fields.count_or("sliding_window", 0) : 0,
                [first](std::size_t i) { return i >= first; });
}

Architecture gemma_base(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    a.norm = NormKind::rms_plus_one;
    a.tied = fields.flag_or("tie_word_embeddings", true);
    a.scaled_embedding = true;
    return a;
}

LayerSpec gemma_layer(const ConfigFields& fields, const Architecture& a,
                      std::string_view activation) {
    LayerSpec layer = common_layer(fields, a);
    layer.attention.qkv_bias = fields.flag_or("attention_bias", false);
    layer.attention.output_bias = layer.attention.qkv_bias;
    layer.feed_forward.activation = activation_of(fields, activation, "gelu_pytorch_tanh");
    return layer;
}

}  // namespace

Architecture read_llama(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    LayerSpec layer = common_layer(fields, a);
    layer.attention.qkv_bias = fields.flag_or("attention_bias", false);
    layer.attention.output_bias = layer.attention.qkv_bias;
    layer.feed_forward.bias = fields.flag_or("mlp_bias", false);
    set_layers(fields, a, {layer});
    return a;
}

Architecture read_mistral(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    const LayerSpec layer = common_layer(fields, a);
    set_windows(fields, a, layer, fields.count_or("sliding_window", 0),
                [](std::size_t) { return true; });
    return a;
}

Architecture read_qwen2(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    LayerSpec layer = common_layer(fields, a);
    layer.attention.qkv_bias = true;
    set_qwen_windows(fields, a, layer);
    return a;
}

Architecture read_qwen3(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    set_qwen_windows(fields, a, qwen3_layer(fields, a));
    return a;
}

Architecture read_gemma(const ConfigFields& fields) {
    Architecture a = gemma_base(fields);
    LayerSpec layer = gemma_layer(fields, a, "hidden_activation");
    // The first configs say "gelu" but mean its tanh form.
    layer.feed_forward.activation = Activation::gelu_tanh;
    set_layers(fields, a, {layer});
    return a;
}

Architecture read_gemma2(const ConfigFields& fields) {
    Architecture a = gemma_base(fields);
    a.block = Block::sandwich;
    a.softcap = fields.number_or("final_logit_softcapping", 30.0);
    LayerSpec layer = gemma_layer(fields, a, "hidden_activation");
    layer.attention.softcap = fields.number_or("attn_logit_softcapping", 50.0);
    set_windows(fields, a, layer, fields.count_or("sliding_window", 4096),
                [](std::size_t i) { return (i + 1) % 2 != 0; });
    return a;
}

Architecture read_gemma3(const ConfigFields& fields) {
    Architecture a = gemma_base(fields);
    a.block = Block::sandwich;
    a.softcap = fields.number_or("final_logit_softcapping", 0.0);
    LayerSpec layer = gemma_layer(fields, a, "hidden_activation");
    layer.attention.qk_norm = QkNorm::head;
    const auto pattern = static_cast<std::size_t>(fields.count_or("sliding_window_pattern", 6));
    if (pattern == 0) fields.fail("sliding_window_pattern", " must be positive");
    set_windows(fields, a, layer, fields.count_or("sliding_window", 4096),
                [pattern](std::size_t i) { return (i + 1) % pattern != 0; });
    return a;
}

Architecture read_phi(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    a.norm = NormKind::layer;
    a.block = Block::parallel;
    a.head_bias = true;
    a.dropout = fields.number_or("resid_pdrop", 0.0);
    LayerSpec layer = common_layer(fields, a);
    layer.attention.qkv_bias = true;
    layer.attention.output_bias = true;
    layer.attention.rotary_dim =
        rotary_part(layer.attention.head_dim, partial_rotary(fields, "partial_rotary_factor", 0.5));
    layer.attention.joined_rotary = true;
    if (fields.flag_or("qk_layernorm", false)) {
        fields.fail("qk_layernorm", ": norms of q and k are not supported for phi");
    }
    layer.feed_forward.gated = false;
    layer.feed_forward.bias = true;
    layer.feed_forward.activation = activation_of(fields, "hidden_act", "gelu_new");
    set_layers(fields, a, {layer});
    return a;
}

Architecture read_phi3(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    a.dropout = fields.number_or("resid_pdrop", 0.0);
    LayerSpec layer = common_layer(fields, a);
    layer.attention.projection = Projection::fused;
    layer.attention.joined_rotary = true;
    layer.attention.rotary_dim =
        rotary_part(layer.attention.head_dim, partial_rotary(fields, "partial_rotary_factor", 1.0));
    layer.feed_forward.fused_gate = true;
    set_windows(fields, a, layer, fields.count_or("sliding_window", 0),
                [](std::size_t) { return true; });
    return a;
}

Architecture read_gpt2(const ConfigFields& fields) {
    Architecture a;
    a.vocabulary = fields.count("vocab_size");
    a.hidden = fields.count("n_embd");
    a.positions = fields.count_or("n_positions", 1024);
    a.longest = a.positions;
    a.norm = NormKind::layer;
    a.tied = fields.flag_or("tie_word_embeddings", true);
    a.dropout = fields.number_or("resid_pdrop", 0.1);
    a.attention_dropout = fields.number_or("attn_pdrop", 0.1);
    LayerSpec layer;
    AttentionSpec& attention = layer.attention;
    attention.heads = fields.count("n_head");
    attention.kv_heads = attention.heads;
    attention.head_dim = quotient(fields, a.hidden, attention.heads, "n_head");
    attention.value_dim = attention.head_dim;
    attention.projection = Projection::conv1d;
    attention.qkv_bias = true;
    attention.output_bias = true;
    layer.feed_forward = {.intermediate = fields.count_or("n_inner", 4 * a.hidden),
                          .activation = activation_of(fields, "activation_function", "gelu_new"),
                          .gated = false,
                          .bias = true};
    set_layers(fields, a, {layer}, "n_layer");
    return a;
}

Architecture read_gpt_neox(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    a.norm = NormKind::layer;
    a.block = fields.flag_or("use_parallel_residual", true) ? Block::parallel_two_norms
                                                            : Block::sequential;
    a.dropout = fields.number_or("hidden_dropout", 0.0);
    LayerSpec layer = common_layer(fields, a);
    AttentionSpec& attention = layer.attention;
    attention.projection = Projection::fused_by_head;
    attention.joined_rotary = true;
    attention.qkv_bias = fields.flag_or("attention_bias", true);
    attention.output_bias = attention.qkv_bias;
    attention.rotary_dim =
        rotary_part(attention.head_dim, partial_rotary(fields, "rotary_pct", 0.25));
    layer.feed_forward.gated = false;
    layer.feed_forward.bias = true;
    layer.feed_forward.activation = activation_of(fields, "hidden_act", "gelu");
    set_layers(fields, a, {layer});
    return a;
}

Architecture read_olmo2(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    a.block = Block::post;
    a.norm = NormKind::rms_wide;
    LayerSpec layer = common_layer(fields, a);
    layer.attention.qkv_bias = fields.flag_or("attention_bias", false);
    layer.attention.output_bias = layer.attention.qkv_bias;
    layer.attention.qk_norm = QkNorm::whole;
    layer.attention.rotary = Rotary::halves_fp32;
    set_layers(fields, a, {layer});
    return a;
}

}  // namespace ridge::programs
