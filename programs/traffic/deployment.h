// How a model is deployed: over which GPUs, in which types, with which limits of the scheduler.
//
//   Deployment d{.tensor = 8, .experts = true};    // what an engine calls tp 8 ep 8: eight GPUs
//   d.gpus();                                      // 8
//   usable_tokens(model, d, machine_bytes);        // tokens of cache of all its sequences
//
// Method: as engines count. `tensor` GPUs share each product and the heads; `data` such groups have
// their own attention and sequences but go through the experts together; with `experts` the experts
// are distributed over all tensor x data GPUs, otherwise each expert is cut like any product.
// `pipeline` stages hold the layers one after the other. Copies that share nothing are `replicas`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/core/data_type.h"
#include "programs/configs/architecture.h"
#include "programs/software/request.h"
#include "programs/traffic/engine.h"

namespace ridge::programs {

/// How a token is drawn: from all, or the largest; or from the top (top-k, top-p), which sorts.
enum class Sampling : std::uint8_t { plain, top };

/// How draft tokens are made: not at all; from the text so far; by extra layers of the model (MTP); by a
/// smaller model.
enum class Draft : std::uint8_t { none, ngram, mtp, model };
/// As an engine's command names it: "ngram".
[[nodiscard]] std::string_view name_of(Draft draft);

/// Drafts of a sequence: a chain, or a tree whose nodes above level i have `widths[i]` children each.
struct Speculation {
    Draft draft = Draft::none;
    double acceptance = 0.0;  ///< probability that a drafted token is right if those before it are
    std::vector<std::int64_t> widths{};

    /// Passes of whatever drafts.
    [[nodiscard]] std::int64_t depth() const { return static_cast<std::int64_t>(widths.size()); }
    /// Nodes above a level: the rows of a pass, for each sequence.
    [[nodiscard]] std::int64_t rows(std::int64_t level) const;
    /// All nodes: drafted for each sequence and step, and verified in one pass.
    [[nodiscard]] std::int64_t tokens() const;
    /// Probability that one of a level's candidates is right: 1 - (1 - a)^w. (W27)
    [[nodiscard]] double accepted(std::int64_t level) const;
    /// Expected tokens of a sequence and step: 1 + p1 + p1 p2 + ...
    [[nodiscard]] double tokens_per_step() const;
};
/// A chain of `tokens` drafts.
[[nodiscard]] std::vector<std::int64_t> chain_of(std::int64_t tokens);

/// Adapters (LoRA) of which each request uses one; as many are on the GPUs, and in a step, as there are
/// slots.
struct AdapterSlots {
    std::int64_t slots = 0;  ///< 0: none
    std::int64_t rank = 16;
};

struct Deployment {
    std::int64_t tensor = 1;
    std::int64_t data = 1;
    std::int64_t pipeline = 1;
    bool experts = false;
    std::int64_t replicas = 1;
    model::DataType type = model::DataType::bf16;
    model::DataType cache_type = model::DataType::bf16;
    Quantisation quantisation = Quantisation::stored;
    std::int64_t chunk = 8192;      ///< most tokens of a step
    std::int64_t sequences = 1024;  ///< most sequences of a step
    std::int64_t block = 16;        ///< tokens of a page of the cache
    bool chunked = true;            ///< a prompt may be cut
    bool prefix_cache = true;
    Sampling sampling = Sampling::top;
    Speculation speculation{};
    std::shared_ptr<const Architecture> drafter{};  ///< of Draft::model
    AdapterSlots adapters{};
    std::int64_t offload = 0;  ///< bytes of the host's memory that each server keeps pages in

    /// Of one replica, and of all.
    [[nodiscard]] std::int64_t gpus_of_replica() const { return tensor * data * pipeline; }
    [[nodiscard]] std::int64_t gpus() const { return gpus_of_replica() * replicas; }
};

/// The request whose step has this deployment's shapes on one GPU.
[[nodiscard]] Request request_of(const Deployment& deployment, Phase phase);

/// The same GPUs for the model that drafts.
[[nodiscard]] Deployment deployment_of_drafter(const Deployment& deployment);

/// Throws InputError naming the field: degrees that do not divide heads, experts or layers.
void validate(const Architecture& architecture, const Deployment& deployment);

/// Bytes that one GPU holds of the weights.
[[nodiscard]] std::int64_t weights_of_gpu(const Architecture& architecture,
                                          const Deployment& deployment);

/// Bytes of a step of as many tokens and sequences as are allowed: the rows of the widest layer, the
/// logits and their copies. (W15)
[[nodiscard]] std::int64_t activations_of_gpu(const Architecture& architecture,
                                              const Deployment& deployment);

/// Bytes of the cache of a token on one GPU, of sequences of `length` tokens, with that of a drafting model.
[[nodiscard]] double cache_bytes_per_token(const Architecture& architecture,
                                           const Deployment& deployment, std::int64_t length);

/// Tokens of cache that one replica keeps in the host's memory, for sequences of `length` tokens.
[[nodiscard]] std::int64_t offloaded_tokens(const Architecture& architecture,
                                            const Deployment& deployment, std::int64_t length);

/// Tokens of cache that one replica has room for with `usable` bytes on each GPU, for sequences of
/// `length` tokens; 0 if not even the weights fit.
[[nodiscard]] std::int64_t usable_tokens(const Architecture& architecture,
                                         const Deployment& deployment, std::int64_t usable,
                                         std::int64_t length);

/// "tp 8, ep 8", "dp 4, ep 4, 2 replicas"; "one GPU".
[[nodiscard]] std::string text_of(const Deployment& deployment);

/// The command line that starts it in this engine.
[[nodiscard]] std::string start_command(const Engine& engine, const std::string& model,
                                        const Deployment& deployment);

}  // namespace ridge::programs
