// A request to a model: the phase, the sizes, the types, and the distribution over GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/core/data_type.h"
#include "programs/configs/weights.h"

namespace ridge::programs {

/// `prefill` reads a prompt of `seq` tokens into the cache, `decode` generates one token per
/// sequence with `seq` tokens in the cache, `train` is forward, backward and update over `seq`
/// tokens.
enum class Phase : std::uint8_t { prefill, decode, train };

/// transformers: eager PyTorch; compiled: the same model with torch.compile; serving: the fused
/// kernels of a serving engine in a CUDA graph.
enum class Software : std::uint8_t { transformers, compiled, serving };

/// Rows of logits that are computed: only the last token of each sequence, or all tokens.
enum class Logits : std::uint8_t { last, all };

/// What the forward pass keeps: everything; the results of products and attention; or only the
/// inputs of the layers.
enum class Checkpoint : std::uint8_t { none, selective, full };

enum class Optimizer : std::uint8_t { none, adamw };

struct Request {
    Phase phase = Phase::prefill;
    Software software = Software::transformers;
    std::int64_t batch = 1;
    std::int64_t seq = 4096;
    model::DataType type = model::DataType::bf16;
    model::DataType cache_type = model::DataType::bf16;
    Quantisation quantisation = Quantisation::stored;   ///< by default as the checkpoint is
    std::optional<Quantisation> expert_quantisation{};  ///< of experts, if another
    Logits logits = Logits::last;
    Optimizer optimizer = Optimizer::adamw;
    bool mixed = false;  ///< weights in fp32, products in bf16 (autocast)
    Checkpoint checkpoint = Checkpoint::none;
    std::int64_t tensor_parallel = 1;
    std::int64_t expert_parallel = 1;
    std::int64_t zero = 0;               ///< ZeRO stage 0 to 3
    std::int64_t data_parallel = 1;      ///< GPUs over which ZeRO distributes
    bool cache = true;                   ///< prefill fills a cache
    std::int64_t images = 0;             ///< in each sequence
    std::int64_t image_width = 0;        ///< pixels
    std::int64_t image_height = 0;       ///< pixels
    std::int64_t audio = 0;              ///< seconds of sound in each sequence
    bool drafting = false;               ///< heads for further tokens run
    std::int64_t multiprocessors = 132;  ///< of the GPU; libraries choose kernels by this number

    /// Tokens per sequence that go through the layers.
    [[nodiscard]] std::int64_t tokens() const { return phase == Phase::decode ? 1 : seq; }
    [[nodiscard]] bool training() const { return phase == Phase::train; }
};

[[nodiscard]] std::string_view name_of(Phase phase);
[[nodiscard]] std::string_view name_of(Software software);

}  // namespace ridge::programs
