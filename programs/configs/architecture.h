// A decoder as numbers: the contents of its config, in one vocabulary for all families.
//
//   const Architecture a = read_config(text, "config.json");     // config_reader.h
//   parameters_of(a);                                            // 8030261248 for Llama 3.1 8B
//   for (const Weight& weight : weights_of(a)) ... weight.elements * weight.count ...
//
// Method: each weight tensor is listed once with its shape and the number of layers that have it;
// parameter count, weight bytes, gradients and optimizer states are sums over that list.
// Limits: decoders with one stream of tokens; vision towers and multi-token heads are left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::programs {

/// `rms_plus_one` multiplies by one plus the weight, in fp32 (Gemma); `rms_wide` multiplies by the
/// weight in fp32 (OLMo 2); `layer` has mean and bias.
enum class NormKind : std::uint8_t { rms, rms_plus_one, rms_wide, layer };

/// gelu_new and gelu_fast are the tanh form as separate operations; gelu_tanh is one kernel.
enum class Activation : std::uint8_t { silu, relu, gelu_erf, gelu_tanh, gelu_new, gelu_fast };

/// The positions of a layer's norms, and the order of the additions.
enum class Block : std::uint8_t {
    sequential,         ///< x += attention(norm(x)); x += mlp(norm(x))
    sandwich,           ///< a second norm after attention and after the mlp (Gemma 2 and 3)
    post,               ///< norms only after attention and mlp (OLMo 2)
    parallel,           ///< x += attention(norm(x)) + mlp(norm(x)), one norm (Phi)
    parallel_two_norms  ///< the same with two norms (GPT-NeoX)
};

/// How q, k and v are projected: three products; one product whose result is split; one product
/// whose result is split within each head; or one with bias and a transposed weight (GPT-2's
/// Conv1D).
enum class Projection : std::uint8_t { separate, fused, fused_by_head, conv1d };

/// Norms of q and k: none, along each head, or along all heads together.
enum class QkNorm : std::uint8_t { none, head, whole };

/// Which elements rotate together: the halves of a head; the halves in fp32 (OLMo 2); neighbours;
/// or neighbours as complex numbers in fp32 (DeepSeek-V2).
enum class Rotary : std::uint8_t { halves, halves_fp32, interleaved, complex };

struct AttentionSpec {
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;    ///< of q and k
    std::int64_t value_dim = 0;   ///< of v
    std::int64_t rotary_dim = 0;  ///< leading elements of a head that rotate; 0: none
    std::int64_t window = 0;      ///< maximum number of keys that a query sees; 0: all
    Projection projection = Projection::separate;
    bool qkv_bias = false;
    bool output_bias = false;
    QkNorm qk_norm = QkNorm::none;
    double softcap = 0.0;  ///< of the scores; 0: none
    // Multi-head latent attention (kv_rank > 0): head_dim = nope + rotary_dim.
    std::int64_t q_rank = 0;   ///< 0: q is projected in one step
    std::int64_t kv_rank = 0;  ///< elements of the latent vector
    bool latent_bias = false;
    Rotary rotary = Rotary::halves;
    bool joined_rotary = false;  ///< a copy joins rotated and other elements, even if empty

    [[nodiscard]] bool latent() const { return kv_rank > 0; }
    [[nodiscard]] std::int64_t nope_dim() const { return head_dim - rotary_dim; }
    friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

enum class Routing : std::uint8_t { softmax, sigmoid_groups, softmax_groups };

struct FeedForwardSpec {
    std::int64_t intermediate = 0;  ///< of the dense mlp, or of one expert
    Activation activation = Activation::silu;
    bool gated = true;
    bool fused_gate = false;  ///< gate and up in one product
    bool bias = false;
    std::int64_t experts = 0;  ///< 0: dense
    std::int64_t active = 0;   ///< experts per token
    std::int64_t shared = 0;   ///< intermediate size of the shared expert; 0: none
    bool shared_gate = false;
    bool normalise_weights = false;
    Routing routing = Routing::softmax;
    std::int64_t groups = 1;         ///< groups of experts
    std::int64_t active_groups = 1;  ///< groups that a token may use

    friend bool operator==(const FeedForwardSpec&, const FeedForwardSpec&) = default;
};

struct LayerSpec {
    AttentionSpec attention;
    FeedForwardSpec feed_forward;

    friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

struct Architecture {
    std::string name;
    std::string family;  ///< the config's model_type
    std::string source;  ///< source of a preset's numbers
    std::int64_t vocabulary = 0;
    std::int64_t hidden = 0;
    std::int64_t positions = 0;  ///< rows of a learned position table; 0: none
    std::int64_t longest = 0;    ///< longest sequence that the config states; 0: not stated
    NormKind norm = NormKind::rms;
    Block block = Block::sequential;
    bool tied = false;  ///< the head shares its weight with the embedding
    bool head_bias = false;
    bool scaled_embedding = false;  ///< multiplied by a constant (Gemma)
    double softcap = 0.0;           ///< of the logits; 0: none
    bool idle_mask = false;         ///< builds a mask for a window that no layer uses (Qwen 2 MoE)
    double dropout = 0.0;           ///< of residuals and embeddings, in training
    double attention_dropout = 0.0;
    std::vector<LayerSpec> kinds;           ///< the different layers
    std::vector<std::uint8_t> layer_kinds;  ///< for each layer, its index in `kinds`

    [[nodiscard]] std::int64_t layers() const {
        return static_cast<std::int64_t>(layer_kinds.size());
    }
    [[nodiscard]] const LayerSpec& layer(std::size_t index) const {
        return kinds[layer_kinds[index]];
    }
    /// Layers of that kind.
    [[nodiscard]] std::int64_t layers_of(std::size_t kind) const;
};

enum class WeightRole : std::uint8_t { embedding, product, expert, router, norm, bias, head };

struct Weight {
    std::string_view name;
    WeightRole role = WeightRole::product;
    std::int64_t rows = 0;     ///< outputs
    std::int64_t columns = 1;  ///< inputs
    std::int64_t stacked = 1;  ///< experts in one tensor
    std::int64_t count = 1;    ///< number of layers that have such a tensor
    std::uint8_t kind = 0;     ///< index of the layer kind, for weights of a layer

    [[nodiscard]] std::int64_t elements() const { return rows * columns * stacked; }
};

/// Each weight tensor once, with the number of layers that have it.
[[nodiscard]] std::vector<Weight> weights_of(const Architecture& architecture);
[[nodiscard]] std::int64_t parameters_of(const Architecture& architecture);
/// Parameters that one token uses: of the experts only the active ones.
[[nodiscard]] std::int64_t active_parameters_of(const Architecture& architecture);

/// Throws InputError naming the field: a size that is not positive, does not divide another, or is
/// larger than in any model (so that products of sizes stay far from overflow).
void validate(const Architecture& architecture);

[[nodiscard]] std::string_view name_of(NormKind kind);

}  // namespace ridge::programs
