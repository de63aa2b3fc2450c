// A symbolic run of a decoder: records its layers as one software executes them.
//
//   Decoder decoder(architecture, request);
//   decoder.run();
//   decoder.recorder().kernels();      // launched kernels, equal ones counted together
//   decoder.recorder().memory();       // weights, then the step's allocations
//
// Method: the code follows the modelling code of transformers 5.17 line by line
// (models/NAME/modeling_NAME.py); if a software fuses kernels, the fused kernel replaces its parts.
// In inference, layers of one kind are identical: only the first and the last of each kind are run,
// the others are counted with the first, and their part of the cache is allocated.
// Limits: no padding mask (all sequences have the same length), no cross attention, no vision part.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "programs/configs/architecture.h"
#include "programs/software/recorder.h"
#include "programs/software/request.h"

namespace ridge::programs {

namespace model_phase {
inline constexpr std::string_view weights = "weights";
inline constexpr std::string_view cache = "cache";
inline constexpr std::string_view optimizer = "optimizer states";
inline constexpr std::string_view forward = "forward";
inline constexpr std::string_view backward = "backward";
inline constexpr std::string_view update = "update";
}  // namespace model_phase

class Decoder {
  public:
    Decoder(const Architecture& architecture, const Request& request, bool memory = true);

    void run();
    [[nodiscard]] const Recorder& recorder() const { return run_; }
    /// Elements of the weights that this GPU holds.
    [[nodiscard]] std::int64_t weight_elements() const { return weight_elements_; }

  private:
    struct Norm {
        Buffer weight;
        Buffer bias;
        std::int64_t size = 0;
    };
    struct Layer {
        Linear q, k, v, qkv, o;
        Linear q_a, q_b, kv_a, kv_b;
        Norm q_norm, k_norm, latent_q_norm, latent_norm;
        Linear gate, up, gate_up, down, router, shared_gate, shared_up, shared_down, shared_scale;
        Buffer experts_up, experts_down;
        std::vector<Norm> norms;
        std::int64_t elements = 0;  ///< of all its weights
        std::int64_t bytes = 0;
    };
    struct Heads {
        Buffer q, k, v;
    };
    using Cache = std::pair<Buffer, Buffer>;

    // Weights (decoder_weights.cpp).
    void make_weights();
    void allocate_rest();
    [[nodiscard]] Layer make_layer(const LayerSpec& spec);
    [[nodiscard]] Linear make_linear(std::int64_t outputs, std::int64_t inputs, bool bias,
                                     std::string_view name, WeightRole role = WeightRole::product);
    [[nodiscard]] Buffer make_weight(const Weight& weight);
    [[nodiscard]] Norm make_norm(std::int64_t size);
    void make_attention(Layer& layer, const AttentionSpec& spec);
    void make_feed_forward(Layer& layer, const FeedForwardSpec& spec);

    // The step.
    void make_cache();
    void make_buckets();
    void make_states();
    [[nodiscard]] Buffer embed();
    void positions();
    void rotary_tables(std::int64_t dimension, bool complex);
    void masks();
    void sliding_mask();
    void run_layers(Buffer& x);
    void skip_cache(std::size_t layer);
    void hold_cache(const Buffer& keys, const Buffer& values);
    [[nodiscard]] Buffer block(Buffer x, std::size_t layer);
    [[nodiscard]] Buffer sequential_block(Buffer x, std::size_t layer);
    [[nodiscard]] Buffer parallel_block(Buffer x, std::size_t layer);
    void finish(Buffer x);
    void head_of_training(Buffer x);
    void last_logits(const Buffer& x, const Linear& head);
    [[nodiscard]] Buffer softcap(Buffer logits);
    void update();

    // Parts of a layer (decoder_parts.cpp).
    [[nodiscard]] Buffer norm(Buffer x, const Norm& norm, std::string_view name);
    [[nodiscard]] Buffer rms_norm(Buffer x, const Norm& norm, std::string_view name);
    [[nodiscard]] Buffer compiled_norm(Buffer x, const Norm& norm, std::string_view name);
    [[nodiscard]] Buffer residual(Buffer x, Buffer delta);
    [[nodiscard]] Buffer attend(Buffer x, std::size_t layer);
    [[nodiscard]] Heads project(Buffer x, const Layer& weights, const AttentionSpec& spec);
    [[nodiscard]] Buffer latent_attend(Buffer x, std::size_t layer);
    [[nodiscard]] Buffer rotate(Buffer x, const AttentionSpec& spec, std::int64_t heads, bool key);
    [[nodiscard]] Buffer rotate_interleaved(Buffer x, std::int64_t heads, std::int64_t dimension);
    void update_cache(Buffer& k, Buffer& v, std::size_t layer);
    [[nodiscard]] Buffer sliding_part(const Buffer& kept, const AttentionSpec& s);
    [[nodiscard]] Buffer scores(Heads heads, const AttentionSpec& spec);
    [[nodiscard]] Buffer compiled_scores(Heads heads, AttentionShape shape, bool joint);
    void compiled_cache(Buffer& k, Buffer& v, std::size_t layer);
    [[nodiscard]] Buffer project_out(Buffer x, const Linear& o);
    [[nodiscard]] Buffer feed_forward(Buffer x, std::size_t layer);
    [[nodiscard]] Buffer gated(Buffer x, const Linear& gate, const Linear& up, const Linear& down,
                               Activation activation);
    [[nodiscard]] Buffer activate(Buffer x, Activation activation);
    /// The operation that combines the product with a gate's activation in one kernel.
    [[nodiscard]] static Math gate_of(Activation activation) {
        return activation == Activation::silu ? Math::silu_multiply : Math::gelu_multiply;
    }
    [[nodiscard]] Buffer experts(Buffer x, const Layer& weights, const FeedForwardSpec& spec);
    struct Routed {
        Buffer weights, chosen;
    };
    [[nodiscard]] Routed route(const Buffer& x, const Layer& weights, const FeedForwardSpec& spec);
    [[nodiscard]] Buffer weights_of_experts(Buffer scores, const FeedForwardSpec& spec, bool wide);
    [[nodiscard]] Buffer grouped_experts(const Buffer& x, Routed routed, const Layer& weights,
                                         const FeedForwardSpec& spec);
    [[nodiscard]] Buffer eager_experts(const Buffer& x, Routed routed, const Layer& weights,
                                       const FeedForwardSpec& spec);
    [[nodiscard]] Buffer expand_and_attend(Buffer q_pass, Buffer q_turned, Buffer latent,
                                           Buffer k_turned, std::size_t layer);
    [[nodiscard]] Buffer apply(Buffer x, const Linear& layer, std::string_view name);
    void all_reduce(std::int64_t elements, std::int64_t gpus);
    void gather_layer(std::int64_t layer);
    void gather_rest();
    void gather(std::int64_t stored, Buffer& whole);

    [[nodiscard]] std::int64_t tokens() const { return request_.batch * request_.tokens(); }
    [[nodiscard]] bool eager() const { return request_.software == Software::transformers; }
    [[nodiscard]] bool compiled() const { return request_.software == Software::compiled; }
    [[nodiscard]] const LayerSpec& spec_of(std::size_t layer) const {
        return architecture_.layer(layer);
    }
    [[nodiscard]] const Layer& weights_of_layer(std::size_t layer) const;
    [[nodiscard]] std::int64_t shard(std::int64_t count) const;
    [[nodiscard]] std::int64_t own_part(std::int64_t elements) const;

    const Architecture& architecture_;
    Request request_;
    Recorder run_;
    Buffer embedding_, position_table_, head_, head_bias_;
    Norm final_norm_;
    std::vector<Layer> layers_;  ///< one per kind, or one per layer in training
    Buffer rest_;                ///< weights of the layers that are not run, as one tensor
    std::vector<Cache> cache_;
    std::vector<Buffer> states_;
    std::vector<Buffer> held_;  ///< the old cache of a compiled step, which the caller still holds
    Buffer buckets_;            ///< of gradients, with several GPUs
    std::int64_t weight_elements_ = 0;
    Buffer embedded_, embedded_positions_;
    Buffer cosine_, sine_, mask_;
    Buffer gathered_, gathered_rest_;
};

}  // namespace ridge::programs
