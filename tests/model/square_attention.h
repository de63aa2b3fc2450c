// Attention of equal heads over as many keys as queries, as papers give it.
//
//   const Attention op = attention(16, 8, 4096, 64);   // batch, heads, length, width of a head
#pragma once

#include <cstdint>

#include "model/core/operation.h"

namespace ridge::test {

inline model::Attention attention(std::int64_t batch, std::int64_t heads, std::int64_t seq,
                                  std::int64_t head_dim,
                                  model::DataType type = model::DataType::fp16) {
    return {.batch = batch,
            .heads = heads,
            .kv_heads = heads,
            .seq_q = seq,
            .seq_kv = seq,
            .head_dim = head_dim,
            .type = type};
}

}  // namespace ridge::test
