// What is asked of a model: the phase, the sizes, the types, how it is spread over GPUs.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/core/data_type.h"
#include "programs/configs/weights.h"

namespace ridge::programs {

/// `prefill` reads a prompt of `seq` tokens into the cache, `decode` makes one token a sequence with
/// `seq` tokens in the cache, `train` is forward, backward and update over `seq` tokens.
enum class Phase : std::uint8_t { prefill, decode, train };

/// transformers: eager PyTorch; compiled: the same model through torch.compile; serving: the fused
/// kernels of a serving engine in a CUDA graph.
enum class Software : std::uint8_t { transformers, compiled, serving };

/// Rows of logits that are computed: of the last token of a sequence, or of all.
enum class Logits : std::uint8_t { last, all };

/// What is kept of the forward pass: everything; the results of products and attention; or the
/// inputs of the layers alone.
enum class Checkpoint : std::uint8_t { none, selective, full };

enum class Optimizer : std::uint8_t { none, adamw };

struct Request {
    Phase phase = Phase::prefill;
    Software software = Software::transformers;
    std::int64_t batch = 1;
    std::int64_t seq = 4096;
    model::DataType type = model::DataType::bf16;
    model::DataType cache_type = model::DataType::bf16;
    Quantisation quantisation = Quantisation::none;
    Logits logits = Logits::last;
    Optimizer optimizer = Optimizer::adamw;
    bool mixed = false;  ///< weights in fp32, products in bf16 (autocast)
    Checkpoint checkpoint = Checkpoint::none;
    std::int64_t tensor_parallel = 1;
    std::int64_t expert_parallel = 1;
    std::int64_t zero = 0;               ///< ZeRO stage 0 to 3
    std::int64_t data_parallel = 1;      ///< GPUs that ZeRO spreads over
    bool cache = true;                   ///< prefill fills a cache
    std::int64_t multiprocessors = 132;  ///< of the GPU: libraries choose by them

    /// Tokens of a sequence that go through the layers.
    [[nodiscard]] std::int64_t tokens() const { return phase == Phase::decode ? 1 : seq; }
    [[nodiscard]] bool training() const { return phase == Phase::train; }
};

[[nodiscard]] std::string_view name_of(Phase phase);
[[nodiscard]] std::string_view name_of(Software software);

}  // namespace ridge::programs
