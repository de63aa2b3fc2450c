// One attention call over a mixed step of a serving engine: new tokens of prompts after what their caches
// hold, and sequences that decode one token each.
//
//   const MixedAttention op{.heads = 32, .kv_heads = 8, .seq_q = 512, .seq_kv = 4608,
//                           .decodes = 64, .decode_kv = 1800};
//
// The new tokens are one chunk: `seq_q` queries over `seq_kv` keys, themselves among them, under a causal
// mask that ends at the last token. Each of `decodes` sequences has one query over `decode_kv` keys, its own
// among them; for caches of different lengths that is their mean.
#pragma once

#include <cstdint>
#include <optional>

#include "model/core/data_type.h"

namespace ridge::model {

struct MixedAttention {
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t seq_q = 0;
    std::int64_t seq_kv = 0;
    std::int64_t decodes = 0;
    std::int64_t decode_kv = 0;
    std::int64_t head_dim = 128;
    DataType type = DataType::bf16;
    std::optional<DataType> cache_type = std::nullopt;  ///< empty: `type`

    friend bool operator==(const MixedAttention&, const MixedAttention&) = default;
};
[[nodiscard]] constexpr DataType cache_type_of(const MixedAttention& op) {
    return op.cache_type.value_or(op.type);
}

}  // namespace ridge::model
