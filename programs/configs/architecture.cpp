#include "programs/configs/architecture.h"

#include <algorithm>
#include <initializer_list>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

constexpr double most_parameters = 1e17;

/// Collects the weights of one kind of layer, or of the whole model.
class WeightList {
  public:
    explicit WeightList(std::vector<Weight>& weights) : weights_(weights) {}

    void layer(std::int64_t count, std::uint8_t kind) {
        count_ = count;
        kind_ = kind;
    }
    void add(std::string_view name, WeightRole role, std::int64_t rows, std::int64_t columns = 1,
             std::int64_t stacked = 1) {
        weights_.push_back({.name = name,
                            .role = role,
                            .rows = rows,
                            .columns = columns,
                            .stacked = stacked,
                            .count = count_,
                            .kind = kind_});
    }
    void product(std::string_view name, std::int64_t rows, std::int64_t columns,
                 std::string_view bias = {}) {
        add(name, WeightRole::product, rows, columns);
        if (!bias.empty()) add(bias, WeightRole::bias, rows);
    }
    void norm(std::string_view name, std::string_view bias, std::int64_t size, NormKind kind) {
        add(name, WeightRole::norm, size);
        if (kind == NormKind::layer) add(bias, WeightRole::bias, size);
    }

  private:
    std::vector<Weight>& weights_;
    std::int64_t count_ = 1;
    std::uint8_t kind_ = 0;
};

void add_latent(WeightList& list, const Architecture& a, const AttentionSpec& s) {
    const std::int64_t q = s.heads * s.head_dim;
    const std::string_view bias = s.latent_bias ? "kv_a_proj bias" : "";
    if (s.q_rank > 0) {
        list.product("q_a_proj", s.q_rank, a.hidden, s.latent_bias ? "q_a_proj bias" : "");
        list.add("q_a_norm", WeightRole::norm, s.q_rank);
        list.product("q_b_proj", q, s.q_rank);
    } else {
        list.product("q_proj", q, a.hidden);
    }
    list.product("kv_a_proj", s.kv_rank + s.rotary_dim, a.hidden, bias);
    list.add("kv_a_norm", WeightRole::norm, s.kv_rank);
    list.product("kv_b_proj", s.heads * (s.nope_dim() + s.value_dim), s.kv_rank);
    list.product("o_proj", a.hidden, s.heads * s.value_dim, s.output_bias ? "o_proj bias" : "");
}

void add_attention(WeightList& list, const Architecture& a, const AttentionSpec& s) {
    if (s.latent()) return add_latent(list, a, s);
    const std::int64_t q = s.heads * s.head_dim;
    const std::int64_t kv = s.kv_heads * s.head_dim;
    if (s.projection == Projection::separate) {
        list.product("q_proj", q, a.hidden, s.qkv_bias ? "q_proj bias" : "");
        list.product("k_proj", kv, a.hidden, s.qkv_bias ? "k_proj bias" : "");
        list.product("v_proj", kv, a.hidden, s.qkv_bias ? "v_proj bias" : "");
    } else {
        list.product("qkv_proj", q + 2 * kv, a.hidden, s.qkv_bias ? "qkv_proj bias" : "");
    }
    if (s.qk_norm != QkNorm::none) {
        const bool whole = s.qk_norm == QkNorm::whole;
        list.add("q_norm", WeightRole::norm, whole ? q : s.head_dim);
        list.add("k_norm", WeightRole::norm, whole ? kv : s.head_dim);
    }
    list.product("o_proj", a.hidden, s.heads * s.value_dim, s.output_bias ? "o_proj bias" : "");
}

void add_mlp(WeightList& list, const Architecture& a, const FeedForwardSpec& s, std::int64_t size) {
    const std::string_view up_bias = s.bias ? "up_proj bias" : "";
    if (s.gated && s.fused_gate) {
        list.product("gate_up_proj", 2 * size, a.hidden, up_bias);
    } else {
        if (s.gated) list.product("gate_proj", size, a.hidden, s.bias ? "gate_proj bias" : "");
        list.product("up_proj", size, a.hidden, up_bias);
    }
    list.product("down_proj", a.hidden, size, s.bias ? "down_proj bias" : "");
}

void add_feed_forward(WeightList& list, const Architecture& a, const FeedForwardSpec& s) {
    if (s.experts == 0) return add_mlp(list, a, s, s.intermediate);
    list.add("router", WeightRole::router, s.experts, a.hidden);
    list.add("experts gate_up_proj", WeightRole::expert, (s.gated ? 2 : 1) * s.intermediate,
             a.hidden, s.experts);
    list.add("experts down_proj", WeightRole::expert, a.hidden, s.intermediate, s.experts);
    if (s.shared > 0) add_mlp(list, a, s, s.shared);
    if (s.shared_gate) list.add("shared expert gate", WeightRole::router, 1, a.hidden);
}

std::int64_t norms_of(Block block) {
    switch (block) {
        case Block::sandwich:
            return 4;
        case Block::parallel:
            return 1;
        case Block::sequential:
        case Block::post:
        case Block::parallel_two_norms:
            return 2;
    }
    return 2;
}

struct Limit {
    std::string_view name;
    std::int64_t value;
    std::int64_t least;
    std::int64_t most;
};

void check(std::initializer_list<Limit> limits) {
    for (const Limit& limit : limits) {
        if (limit.value >= limit.least && limit.value <= limit.most) continue;
        throw InputError(std::string(limit.name) + " is " + std::to_string(limit.value) +
                         "; it must be " + std::to_string(limit.least) + " to " +
                         std::to_string(limit.most));
    }
}

constexpr std::int64_t million = 1000000;

void check_attention(const AttentionSpec& s) {
    check({{"num_attention_heads", s.heads, 1, 4096},
           {"num_key_value_heads", s.kv_heads, 1, 4096},
           {"head_dim", s.head_dim, 1, 65536},
           {"v_head_dim", s.value_dim, 1, 65536},
           {"rotary dimension", s.rotary_dim, 0, s.head_dim},
           {"sliding_window", s.window, 0, 1000 * million},
           {"q_lora_rank", s.q_rank, 0, million},
           {"kv_lora_rank", s.kv_rank, 0, million}});
    if (s.heads % s.kv_heads != 0) {
        throw InputError("num_key_value_heads is " + std::to_string(s.kv_heads) +
                         "; it must divide num_attention_heads, " + std::to_string(s.heads));
    }
}

void check_feed_forward(const FeedForwardSpec& s) {
    check({{"intermediate_size", s.intermediate, 1, 10 * million},
           {"number of experts", s.experts, 0, 65536},
           {"shared intermediate size", s.shared, 0, 10 * million},
           {"n_group", s.groups, 1, 65536},
           {"topk_group", s.active_groups, 1, s.groups}});
    if (s.experts > 0) check({{"num_experts_per_tok", s.active, 1, s.experts}});
}

}  // namespace

std::int64_t Architecture::layers_of(std::size_t kind) const {
    return std::count(layer_kinds.begin(), layer_kinds.end(), static_cast<std::uint8_t>(kind));
}

std::vector<Weight> weights_of(const Architecture& a) {
    std::vector<Weight> weights;
    WeightList list(weights);
    list.add("embedding", WeightRole::embedding, a.vocabulary, a.hidden);
    if (a.positions > 0) list.add("positions", WeightRole::embedding, a.positions, a.hidden);
    for (std::size_t kind = 0; kind < a.kinds.size(); ++kind) {
        list.layer(a.layers_of(kind), static_cast<std::uint8_t>(kind));
        add_attention(list, a, a.kinds[kind].attention);
        add_feed_forward(list, a, a.kinds[kind].feed_forward);
        for (std::int64_t norm = 0; norm < norms_of(a.block); ++norm) {
            list.norm("norm", "norm bias", a.hidden, a.norm);
        }
    }
    list.layer(1, 0);
    list.norm("final norm", "final norm bias", a.hidden, a.norm);
    if (!a.tied) list.add("lm_head", WeightRole::head, a.vocabulary, a.hidden);
    if (a.head_bias) list.add("lm_head bias", WeightRole::bias, a.vocabulary);
    return weights;
}

std::int64_t parameters_of(const Architecture& architecture) {
    std::int64_t sum = 0;
    for (const Weight& weight : weights_of(architecture)) sum += weight.elements() * weight.count;
    return sum;
}

std::int64_t active_parameters_of(const Architecture& architecture) {
    std::int64_t sum = 0;
    for (const Weight& weight : weights_of(architecture)) {
        std::int64_t elements = weight.elements();
        if (weight.role == WeightRole::expert) {
            elements =
                weight.rows * weight.columns * architecture.kinds[weight.kind].feed_forward.active;
        }
        sum += elements * weight.count;
    }
    return sum;
}

void validate(const Architecture& a) {
    check({{"vocab_size", a.vocabulary, 1, 100 * million},
           {"hidden_size", a.hidden, 1, million},
           {"position table", a.positions, 0, 1000 * million},
           {"num_hidden_layers", a.layers(), 1, 10000}});
    double parameters = 0.0;
    for (const LayerSpec& layer : a.kinds) {
        check_attention(layer.attention);
        check_feed_forward(layer.feed_forward);
    }
    for (const Weight& weight : weights_of(a)) {
        parameters += static_cast<double>(weight.rows) * static_cast<double>(weight.columns) *
                      static_cast<double>(weight.stacked) * static_cast<double>(weight.count);
    }
    if (parameters > most_parameters) {
        throw InputError("the config describes more than 10^17 parameters");
    }
}

std::string_view name_of(NormKind kind) {
    switch (kind) {
        case NormKind::rms:
            return "rms";
        case NormKind::rms_plus_one:
            return "rms_plus_one";
        case NormKind::rms_wide:
            return "rms_wide";
        case NormKind::layer:
            return "layer";
    }
    return "";
}

}  // namespace ridge::programs
