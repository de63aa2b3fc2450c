// The parts of sparse latent attention (DeepSeek-V3.2): an indexer scores all keys of a query, `topk`
// chooses among them, and the attention sees only those.
//
//   const SparseAttention op{.part = SparsePart::attend, .heads = 128, .seq_q = 1, .seq_kv = 65536,
//                            .topk = 2048};
//
// A causal mask is aligned to the last token. Keys and values are latents, shared by all heads; the
// indexer has keys of its own, in `type`, and its scores are fp32.
#pragma once

#include <cstdint>
#include <optional>

#include "model/core/data_type.h"

namespace ridge::model {

enum class SparsePart : std::uint8_t { index, attend };

struct SparseAttention {
    SparsePart part = SparsePart::attend;
    std::int64_t batch = 1;
    std::int64_t heads = 0;  ///< of the attention or of the indexer
    std::int64_t seq_q = 0;
    std::int64_t seq_kv = 0;
    std::int64_t head_dim = 128;    ///< of the indexer
    std::int64_t topk = 0;          ///< keys that a query attends to
    std::int64_t latent_dim = 512;  ///< of the attention
    std::int64_t rope_dim = 64;
    DataType type = DataType::bf16;
    std::optional<DataType> cache_type = std::nullopt;  ///< empty: `type`

    friend bool operator==(const SparseAttention&, const SparseAttention&) = default;
};
[[nodiscard]] constexpr DataType cache_type_of(const SparseAttention& op) {
    return op.cache_type.value_or(op.type);
}

}  // namespace ridge::model
