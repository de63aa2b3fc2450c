// The weights of a decoder as resident tensors, and the cache.
#include <algorithm>

#include "hardware/checked.h"
#include "programs/configs/weights.h"
#include "programs/software/decoder.h"

namespace ridge::programs {

using model::DataType;

std::int64_t Decoder::shard(std::int64_t count) const {
    return ceil_divide(count, request_.tensor_parallel);
}

/// A weight tensor, quantised if the weights of its role are.
Buffer Decoder::make_weight(const Weight& weight) {
    const DataType type = request_.mixed ? DataType::fp32 : request_.type;
    if (request_.training()) return run_.parameter(weight.elements(), type, weight.name);
    const WeightFormat format{.bytes = model::size_of(type), .quantisation = request_.quantisation};
    return run_.parameter(weight.elements(), type, weight.name, weight_bytes(weight, format));
}

Linear Decoder::make_linear(std::int64_t outputs, std::int64_t inputs, bool bias,
                            std::string_view name, WeightRole role) {
    const DataType type = request_.mixed ? DataType::fp32 : request_.type;
    Linear linear;
    linear.inputs = inputs;
    linear.outputs = outputs;
    linear.weight = make_weight({.name = name, .role = role, .rows = outputs, .columns = inputs});
    if (bias) linear.bias = run_.parameter(outputs, type, name);
    return linear;
}

Decoder::Norm Decoder::make_norm(std::int64_t size) {
    const DataType type = request_.mixed ? DataType::fp32 : request_.type;
    Norm norm;
    norm.size = size;
    norm.weight = run_.parameter(size, type, "norm");
    if (architecture_.norm == NormKind::layer) norm.bias = run_.parameter(size, type, "norm");
    return norm;
}

void Decoder::make_attention(Layer& layer, const AttentionSpec& s) {
    const std::int64_t hidden = architecture_.hidden;
    const std::int64_t q = shard(s.heads) * s.head_dim;
    const std::int64_t kv = shard(s.kv_heads) * s.head_dim;
    layer.o = make_linear(hidden, shard(s.heads) * s.value_dim, s.output_bias, "o_proj");
    layer.o.transposed = s.projection == Projection::conv1d;
    if (s.latent()) {
        if (s.q_rank > 0) {
            layer.q_a = make_linear(s.q_rank, hidden, s.latent_bias, "q_a_proj");
            layer.latent_q_norm = make_norm(s.q_rank);
        }
        layer.q_b = make_linear(q, s.q_rank > 0 ? s.q_rank : hidden, false, "q_b_proj");
        layer.kv_a = make_linear(s.kv_rank + s.rotary_dim, hidden, s.latent_bias, "kv_a_proj");
        layer.latent_norm = make_norm(s.kv_rank);
        layer.kv_b = make_linear(shard(s.heads) * (s.nope_dim() + s.value_dim), s.kv_rank, false,
                                 "kv_b_proj");
        return;
    }
    const bool fused =
        s.projection != Projection::separate || request_.software == Software::serving;
    if (fused) {
        layer.qkv = make_linear(q + 2 * kv, hidden, s.qkv_bias, "qkv_proj");
        layer.qkv.transposed = s.projection == Projection::conv1d;
    } else {
        layer.q = make_linear(q, hidden, s.qkv_bias, "q_proj");
        layer.k = make_linear(kv, hidden, s.qkv_bias, "k_proj");
        layer.v = make_linear(kv, hidden, s.qkv_bias, "v_proj");
    }
    if (s.qk_norm == QkNorm::none) return;
    const bool whole = s.qk_norm == QkNorm::whole;
    layer.q_norm = make_norm(whole ? q : s.head_dim);
    layer.k_norm = make_norm(whole ? kv : s.head_dim);
}

void Decoder::make_feed_forward(Layer& layer, const FeedForwardSpec& s) {
    const std::int64_t hidden = architecture_.hidden;
    const bool conv1d = architecture_.kinds.front().attention.projection == Projection::conv1d;
    if (s.experts > 0) {
        const std::int64_t experts = ceil_divide(s.experts, request_.expert_parallel);
        const std::int64_t inner = shard(s.intermediate);
        layer.router = make_linear(s.experts, hidden, false, "router", WeightRole::router);
        layer.experts_up = make_weight({.name = "experts up",
                                        .role = WeightRole::expert,
                                        .rows = (s.gated ? 2 : 1) * inner,
                                        .columns = hidden,
                                        .stacked = experts});
        layer.experts_down = make_weight({.name = "experts down",
                                          .role = WeightRole::expert,
                                          .rows = hidden,
                                          .columns = inner,
                                          .stacked = experts});
        if (s.shared == 0) return;
        layer.shared_gate = make_linear(shard(s.shared), hidden, false, "shared gate_proj");
        layer.shared_up = make_linear(shard(s.shared), hidden, false, "shared up_proj");
        layer.shared_down = make_linear(hidden, shard(s.shared), false, "shared down_proj");
        if (s.shared_gate) {
            layer.shared_scale =
                make_linear(1, hidden, false, "shared expert gate", WeightRole::router);
        }
        return;
    }
    const std::int64_t inner = shard(s.intermediate);
    if (s.gated && (s.fused_gate || request_.software == Software::serving)) {
        layer.gate_up = make_linear(2 * inner, hidden, s.bias, "gate_up_proj");
    } else {
        if (s.gated) layer.gate = make_linear(inner, hidden, s.bias, "gate_proj");
        layer.up = make_linear(inner, hidden, s.bias, "up_proj");
        layer.up.transposed = conv1d;
    }
    layer.down = make_linear(hidden, inner, s.bias, "down_proj");
    layer.down.transposed = conv1d;
}

Decoder::Layer Decoder::make_layer(const LayerSpec& spec) {
    Layer layer;
    const std::int64_t before = run_.allocated_elements();
    const std::int64_t bytes_before = run_.allocated_bytes();
    make_attention(layer, spec.attention);
    make_feed_forward(layer, spec.feed_forward);
    std::size_t norms = 2;
    if (architecture_.block == Block::sandwich) norms = 4;
    if (architecture_.block == Block::parallel) norms = 1;
    for (std::size_t i = 0; i < norms; ++i) layer.norms.push_back(make_norm(architecture_.hidden));
    layer.elements = run_.allocated_elements() - before;
    layer.bytes = run_.allocated_bytes() - bytes_before;
    return layer;
}

/// The weights of the layers that are not run: allocated, but not read here.
void Decoder::allocate_rest() {
    std::int64_t others = 0;
    std::int64_t bytes = 0;
    for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
        others += (architecture_.layers_of(kind) - 1) * layers_[kind].elements;
        bytes += (architecture_.layers_of(kind) - 1) * layers_[kind].bytes;
    }
    rest_ = run_.parameter(others, request_.type, "weights of the other layers", bytes);
}

void Decoder::make_weights() {
    const Architecture& a = architecture_;
    const DataType type = request_.mixed ? DataType::fp32 : request_.type;
    run_.begin(model_phase::weights);
    embedding_ = run_.parameter(shard(a.vocabulary) * a.hidden, type, "embedding");
    if (a.positions > 0)
        position_table_ = run_.parameter(a.positions * a.hidden, type, "positions");
    if (request_.training()) {
        for (std::size_t i = 0; i < a.layer_kinds.size(); ++i) {
            layers_.push_back(make_layer(a.layer(i)));
        }
    } else {
        for (const LayerSpec& spec : a.kinds) layers_.push_back(make_layer(spec));
    }
    final_norm_ = make_norm(a.hidden);
    if (!request_.training()) allocate_rest();
    if (!a.tied) head_ = run_.parameter(shard(a.vocabulary) * a.hidden, type, "lm_head");
    if (a.head_bias) head_bias_ = run_.parameter(shard(a.vocabulary), type, "lm_head");
    weight_elements_ = run_.allocated_elements();
}

/// The part of a parameter that this GPU's optimizer holds under ZeRO.
std::int64_t Decoder::own_part(std::int64_t elements) const {
    return request_.zero > 0 ? ceil_divide(elements, request_.data_parallel) : elements;
}

/// DistributedDataParallel sums gradients in its own buckets, which are allocated with the model.
void Decoder::make_buckets() {
    constexpr std::int32_t states_spread = 1;  // gradients are whole up to this ZeRO stage
    if (!request_.training() || request_.data_parallel < 2 || request_.zero > states_spread) return;
    std::int64_t elements = 0;
    for (const Buffer& parameter : run_.parameters()) elements += parameter.elements();
    buckets_ = run_.allocate(elements, run_.parameters().front().type(), "gradient buckets");
}

/// Both moments of AdamW, allocated since the first step.
void Decoder::make_states() {
    make_buckets();
    if (!request_.training() || request_.optimizer == Optimizer::none) return;
    run_.begin(model_phase::optimizer);
    const DataType type = request_.mixed ? DataType::fp32 : request_.type;
    for (const Buffer& parameter : run_.parameters()) {
        for (int moment = 0; moment < 2; ++moment) {
            states_.push_back(run_.allocate(own_part(parameter.elements()), type, "moments"));
        }
    }
}

void Decoder::make_cache() {
    if (request_.training() || !request_.cache) return;
    run_.begin(model_phase::cache);
    cache_.resize(architecture_.layer_kinds.size());
    if (request_.phase != Phase::decode) return;
    for (std::size_t i = 0; i < cache_.size(); ++i) {
        const AttentionSpec& s = spec_of(i).attention;
        // A layer with a window keeps a view of the tensor that held one more token.
        const std::int64_t held = s.window > 0 ? std::min(request_.seq, s.window) : request_.seq;
        const std::int64_t kept = held * request_.batch;
        const std::int64_t keys = s.latent() ? s.kv_rank : shard(s.kv_heads) * s.head_dim;
        const std::int64_t values = s.latent() ? s.rotary_dim : shard(s.kv_heads) * s.value_dim;
        cache_[i] = {run_.allocate(kept * keys, request_.cache_type, "keys"),
                     run_.allocate(kept * values, request_.cache_type, "values")};
    }
}

const Decoder::Layer& Decoder::weights_of_layer(std::size_t layer) const {
    return request_.training() ? layers_[layer] : layers_[architecture_.layer_kinds[layer]];
}

}  // namespace ridge::programs
