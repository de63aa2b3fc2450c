// Bytes of a model's weights and of its key and value cache.
//
//   const std::int64_t bytes = weights_bytes(a, {.type = DataType::bf16});     // 16060522496
//   kv_cache_bytes(a, {.type = DataType::bf16, .batch = 1, .tokens = 4096});
//
// Method: each weight has the type of the model. With quantised weights, the products of the layers
// take `bits` per weight and one scale of the model's type per group; everything else (embeddings,
// norms, router, head) keeps its type. The cache keeps K and V of every layer, or the latent vector
// and the rotary key; a layer with a window keeps one token less than the window.
// Limits: gradients and optimizer states depend on the training software and are not counted here.
#pragma once

#include <cstdint>
#include <string_view>

#include "programs/configs/architecture.h"

namespace ridge::programs {

enum class Quantisation : std::uint8_t { none, fp8, int8, int4, nvfp4 };

struct WeightFormat {
    std::int64_t bytes = 2;  ///< of one element in the model's type
    Quantisation quantisation = Quantisation::none;
    std::int64_t group = 128;  ///< int4: elements that share a scale; fp8 and int8: one per output;
                               ///< nvfp4: a byte per 16, and a number in fp32 for the tensor
};

[[nodiscard]] std::int64_t weight_bytes(const Weight& weight, const WeightFormat& format);
[[nodiscard]] std::int64_t weights_bytes(const Architecture& architecture,
                                         const WeightFormat& format);

struct CacheShape {
    std::int64_t bytes = 2;  ///< of one element
    std::int64_t batch = 1;
    std::int64_t tokens = 0;
    std::int64_t tensor_parallel = 1;
};
/// Bytes that the layers keep on one GPU, of tokens and of sequences of any length. A layer with a
/// window of w keeps w - 1 tokens: a query sees the tokens of its window, including itself.
[[nodiscard]] std::int64_t kv_cache_bytes(const Architecture& architecture,
                                          const CacheShape& shape);

/// "none", "fp8", "int8", "int4" or "nvfp4"; otherwise throws InputError naming `field`.
[[nodiscard]] Quantisation parse_quantisation(std::string_view text, std::string_view field);
[[nodiscard]] std::string_view name_of(Quantisation quantisation);

}  // namespace ridge::programs
