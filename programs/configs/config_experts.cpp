// Families with experts.
#include "programs/configs/config_families.h"

namespace ridge::programs {
namespace {

/// Dense layers among those with experts: mlp_only_layers, and every layer that is not on the
/// sparse step.
void set_sparse_layers(const ConfigFields& fields, Architecture& a, const LayerSpec& sparse) {
    LayerSpec dense = sparse;
    dense.feed_forward = {.intermediate = fields.count("intermediate_size"),
                          .activation = sparse.feed_forward.activation};
    set_layers(fields, a, {sparse, dense});
    const std::int64_t step = fields.count_or("decoder_sparse_step", 1);
    if (step < 1) fields.fail("decoder_sparse_step", " must be positive");
    for (std::size_t i = 0; i < a.layer_kinds.size(); ++i) {
        const auto ordinal = static_cast<std::int64_t>(i) + 1;
        if (ordinal % step != 0) a.layer_kinds[i] = 1;
    }
    if (const Json* only = fields.list("mlp_only_layers"); only != nullptr) {
        for (const Json& item : only->items()) {
            const auto layer = item.if_whole();
            if (!layer || *layer < 0 || *layer >= a.layers()) {
                fields.fail("mlp_only_layers", " must contain layer numbers");
            }
            a.layer_kinds[static_cast<std::size_t>(*layer)] = 1;
        }
    }
    drop_unused_kinds(a);
}

void set_qwen_experts(const ConfigFields& fields, FeedForwardSpec& spec) {
    spec.intermediate = fields.count("moe_intermediate_size");
    spec.experts = fields.count("num_experts");
    spec.active = fields.count("num_experts_per_tok");
    spec.normalise_weights = fields.flag_or("norm_topk_prob", false);
}

LayerSpec deepseek_layer(const ConfigFields& fields) {
    LayerSpec layer;
    AttentionSpec& attention = layer.attention;
    attention.heads = fields.count("num_attention_heads");
    attention.kv_heads = attention.heads;
    attention.kv_rank = fields.count("kv_lora_rank");
    attention.q_rank = fields.count_or("q_lora_rank", 0);
    attention.rotary_dim = fields.count("qk_rope_head_dim");
    attention.head_dim = fields.count("qk_nope_head_dim") + attention.rotary_dim;
    attention.value_dim = fields.count("v_head_dim");
    attention.latent_bias = fields.flag_or("attention_bias", false);
    attention.output_bias = attention.latent_bias;
    attention.rotary = Rotary::interleaved;
    FeedForwardSpec& experts = layer.feed_forward;
    experts.intermediate = fields.count("moe_intermediate_size");
    experts.activation = activation_of(fields, "hidden_act", "silu");
    experts.experts = fields.count("n_routed_experts");
    experts.active = fields.count("num_experts_per_tok");
    const std::int64_t shared = fields.count_or("n_shared_experts", 0);
    if (shared > 65536) fields.fail("n_shared_experts", " must be at most 65536");
    if (experts.intermediate > 10000000) fields.fail("moe_intermediate_size", " is too large");
    experts.shared = shared * experts.intermediate;
    experts.groups = fields.count_or("n_group", 1);
    experts.active_groups = fields.count_or("topk_group", 1);
    return layer;
}

void set_deepseek_layers(const ConfigFields& fields, Architecture& a, const LayerSpec& sparse) {
    LayerSpec dense = sparse;
    dense.feed_forward = {.intermediate = fields.count("intermediate_size"),
                          .activation = sparse.feed_forward.activation};
    set_layers(fields, a, {dense, sparse});
    const std::int64_t first = fields.count_or("first_k_dense_replace", 0);
    for (std::size_t i = 0; i < a.layer_kinds.size(); ++i) {
        a.layer_kinds[i] = static_cast<std::int64_t>(i) >= first ? 1 : 0;
    }
    drop_unused_kinds(a);
}

}  // namespace

Architecture read_mixtral(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    LayerSpec layer = common_layer(fields, a);
    layer.feed_forward.experts = fields.count_or("num_local_experts", 8);
    layer.feed_forward.active = fields.count_or("num_experts_per_tok", 2);
    layer.feed_forward.normalise_weights = true;
    set_windows(fields, a, layer, fields.count_or("sliding_window", 0),
                [](std::size_t) { return true; });
    return a;
}

Architecture read_olmoe(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    LayerSpec layer = common_layer(fields, a);
    layer.attention.qkv_bias = fields.flag_or("attention_bias", false);
    layer.attention.output_bias = layer.attention.qkv_bias;
    layer.attention.qk_norm = QkNorm::whole;
    layer.feed_forward.experts = fields.count_or("num_experts", 64);
    layer.feed_forward.active = fields.count_or("num_experts_per_tok", 8);
    layer.feed_forward.normalise_weights = fields.flag_or("norm_topk_prob", false);
    set_layers(fields, a, {layer});
    return a;
}

Architecture read_qwen2_moe(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    LayerSpec layer = common_layer(fields, a);
    layer.attention.qkv_bias = fields.flag_or("qkv_bias", true);
    a.idle_mask = !fields.flag_or("use_sliding_window", false);
    set_qwen_experts(fields, layer.feed_forward);
    layer.feed_forward.shared = fields.count("shared_expert_intermediate_size");
    layer.feed_forward.shared_gate = true;
    set_sparse_layers(fields, a, layer);
    return a;
}

Architecture read_qwen3_moe(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    LayerSpec layer = qwen3_layer(fields, a);
    set_qwen_experts(fields, layer.feed_forward);
    set_sparse_layers(fields, a, layer);
    return a;
}

Architecture read_deepseek_v2(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    LayerSpec layer = deepseek_layer(fields);
    const bool grouped = fields.text_or("topk_method", "greedy") != "greedy";
    layer.attention.rotary = Rotary::complex;
    layer.feed_forward.routing = grouped ? Routing::softmax_groups : Routing::softmax;
    layer.feed_forward.normalise_weights = false;
    set_deepseek_layers(fields, a, layer);
    return a;
}

Architecture read_deepseek_v3(const ConfigFields& fields) {
    Architecture a = common_config(fields);
    LayerSpec layer = deepseek_layer(fields);
    layer.feed_forward.routing = Routing::sigmoid_groups;
    layer.feed_forward.normalise_weights = fields.flag_or("norm_topk_prob", true);
    set_deepseek_layers(fields, a, layer);
    return a;
}

}  // namespace ridge::programs
