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
#include <string>
#include <string_view>
#include <vector>

#include "programs/configs/architecture.h"
#include "programs/configs/weight_format.h"

namespace ridge::programs {

[[nodiscard]] std::int64_t weight_bytes(const Weight& weight, const WeightFormat& format);
[[nodiscard]] std::int64_t weights_bytes(const Architecture& architecture,
                                         const WeightFormat& format);

/// The same for a request; the checkpoint's own format leaves out modules that keep their type.
[[nodiscard]] std::int64_t stored_bytes(const Architecture& architecture, Quantisation asked,
                                        std::int64_t bytes);

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

/// The format that a request for `asked` gives weights of that role: the checkpoint's own, if it is asked
/// for, of most of them.
[[nodiscard]] WeightFormat format_of(const Architecture& architecture, Quantisation asked,
                                     std::int64_t bytes, WeightRole role = WeightRole::product);
/// Formats of a weight in the layers of a kind, and in how many of them.
struct LayersFormat {
    WeightFormat format{};
    std::int64_t layers = 0;
};
[[nodiscard]] std::vector<LayersFormat> formats_of(const Architecture& architecture,
                                                   Quantisation asked, std::int64_t bytes,
                                                   const WeightRule& rule, std::size_t kind);

/// "" (as stored), "none", "fp8", "fp8_block", "int8", "int4", "nvfp4" or "mxfp4"; otherwise throws InputError naming `field`.
/// The words that `parse_quantisation` reads; an empty text is `stored`.
[[nodiscard]] std::vector<std::string> quantisation_words();
[[nodiscard]] Quantisation parse_quantisation(std::string_view text, std::string_view field);
[[nodiscard]] std::string_view name_of(Quantisation quantisation);

}  // namespace ridge::programs
