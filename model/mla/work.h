// Work and traffic of latent attention, for prefill and absorbed decode, without times.
//
//   const Mla op{.phase = MlaPhase::decode, .heads = 128, .seq_q = 1, .seq_kv = 4096};
//   mla_work(op).flop()          // 2 x 128 x 4096 x (576 + 512) = 1.14 GFLOP
//   mla_shape(op).key_dim        // 576: the latent and the rotated key
//
// Method: docs/model.md N1 to N3, after DeepSeek-V2 (arXiv 2405.04434, section 2.1) and DeepSeek-V3
// (arXiv 2412.19437, section 2.1.1).
//
// Limits: forward only. The products around the attention (latents to keys and values, absorbed
// queries and outputs) are separate operations.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

/// What one head sees. In prefill every head has its own keys and values. In absorbed decoding all
/// heads share the cache, whose latents are both keys and values.
struct MlaShape {
    double key_dim = 0.0;    ///< elements of a query and of a key
    double value_dim = 0.0;  ///< elements of a value and of an output
    double kv_heads = 0.0;   ///< heads with their own keys
    double scores = 0.0;     ///< query-key pairs under the causal mask, over batch and heads
};
[[nodiscard]] MlaShape mla_shape(const Mla& op);

/// FLOP of both products, exponentials and compulsory bytes; DRAM traffic is set to the compulsory
/// bytes. The latents of new tokens are written to the cache. (N1 to N3)
[[nodiscard]] Work mla_work(const Mla& op);

/// The latents and rotated keys of the new tokens: read in their own type, written in that of the
/// cache.
struct MlaCacheWrite {
    Bytes read;
    Bytes written;
};
[[nodiscard]] MlaCacheWrite mla_cache_write(const Mla& op);

}  // namespace ridge::model
