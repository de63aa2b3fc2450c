// Memory of a decoder's key and value cache: per token, per sequence, paged, and beside weights.
//
//   const KvCache cache{.layers = 32, .kv_heads = 8, .head_dim = 128, .type = DataType::fp16};
//   cache.token_bytes();            // 131072: 2 x 32 layers x 8 heads x 128 x 2 bytes
//   cache.sequence_bytes(4097);     // with blocks of 16 tokens: 257 blocks
//
// Multi-head attention keeps K and V of every head, grouped-query attention those of `kv_heads`,
// multi-query attention those of one head. Multi-head latent attention keeps one compressed vector
// and the rotary part of the key (eq. V40 to V43 of docs/vram.md).
// Limits: no scales of a quantised cache, no block tables (8 bytes per block), one GPU. Tensor
// parallelism divides kv_heads, but not the latent vector, by the number of GPUs.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/core/data_type.h"

namespace ridge::model {

enum class KvKind : std::uint8_t { heads, latent };

struct KvCache {
    KvKind kind = KvKind::heads;
    std::int64_t layers = 0;
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t latent = 0;  ///< elements of the compressed vector
    std::int64_t rope = 0;    ///< elements of the rotary key beside it
    DataType type = DataType::fp16;
    std::int64_t block = 0;  ///< tokens in a page; 0: one stretch of memory per sequence

    /// Bytes of all layers for one token.
    [[nodiscard]] std::int64_t token_bytes() const;
    /// Memory that a sequence occupies: whole pages.
    [[nodiscard]] std::int64_t sequence_bytes(std::int64_t tokens) const;
    /// The part of these bytes that holds no token.
    [[nodiscard]] std::int64_t wasted_bytes(std::int64_t tokens) const;
    /// Mean share of the occupied memory that holds nothing, over equally likely lengths up to
    /// `longest`. Without pages a sequence occupies `longest` tokens from the start.
    [[nodiscard]] double mean_waste(std::int64_t longest) const;
    /// Sequences of `tokens` that fit into `bytes`.
    [[nodiscard]] std::int64_t sequences_in(std::int64_t bytes, std::int64_t tokens) const;
    /// Longest length at which `sequences` of them fit into `bytes`.
    [[nodiscard]] std::int64_t longest_in(std::int64_t bytes, std::int64_t sequences) const;
};

/// Throws an InputError that names the first field that is not positive.
void validate(const KvCache& cache);

}  // namespace ridge::model
