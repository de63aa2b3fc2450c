// Operations of linear attention: layers that carry a state along the tokens instead of a cache.
//
//   const Recurrence op{.kind = RecurrenceKind::gdn, .phase = RecurrencePhase::context, .seq = 4096,
//                       .k_heads = 16, .v_heads = 32};
//
// A layer is a short causal convolution over q, k and v (part conv) and a recurrence (part scan);
// some engines run both in one kernel (part conv+scan). Its projections are matmuls of their own.
// Every value head keeps a state of head_k_dim x head_v_dim in fp32.
//   gdn     gated delta rule (Yang, Kautz and Hatamizadeh 2024): one decay per head and token
//   kda     Kimi delta attention: one decay per element of a key
//   mamba2  state space duality (Dao and Gu 2024): heads of head_dim, groups that share B and C of
//           `state` elements. Here v_heads are its heads, k_heads its groups, head_k_dim its state.
#pragma once

#include <cstdint>

#include "model/core/data_type.h"

namespace ridge::model {

enum class RecurrenceKind : std::uint8_t { gdn, kda, mamba2 };
enum class RecurrencePart : std::uint8_t { conv, scan, fused };
/// A prompt; one token per sequence; `seq` drafted tokens per sequence, checked at once.
enum class RecurrencePhase : std::uint8_t { context, generation, verify };

/// Where the words of a recurrence's phases begin among all words of the field `phase`.
inline constexpr std::int64_t recurrence_phases = 2;
/// Usual sizes of Mamba-2 where they differ.
inline constexpr std::int64_t mamba_head = 64;
inline constexpr std::int64_t mamba_chunk = 256;

struct Recurrence {
    RecurrenceKind kind = RecurrenceKind::gdn;
    RecurrencePart part = RecurrencePart::scan;
    RecurrencePhase phase = RecurrencePhase::context;
    std::int64_t batch = 1;  ///< sequences
    std::int64_t seq = 1;    ///< new tokens of each
    std::int64_t k_heads = 0;
    std::int64_t head_k_dim = 128;
    std::int64_t v_heads = 0;
    std::int64_t head_v_dim = 128;
    std::int64_t conv = 4;    ///< width of the convolution
    std::int64_t chunk = 64;  ///< tokens that a kernel of the prompt takes at once
    DataType type = DataType::bf16;

    friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

/// Channels of the convolution: q, k and v side by side.
[[nodiscard]] constexpr std::int64_t channels_of(const Recurrence& op) {
    return 2 * op.k_heads * op.head_k_dim + op.v_heads * op.head_v_dim;
}

/// Operations that treat the tokens of a batch one by one, beside products and attention.
///   topk      the `topk` largest of each row of `cols` scores, with their positions
///   rope      rotates `cols` elements of each of `rows` tokens, with cosines and sines per token
///   swiglu    out[rows, cols] = silu(a) * b with a and b side by side in the input
///   quantize  rows of `cols` elements to `output`, with the scales of that type
///   conv1d    causal convolution of width `width` along the tokens of each of `batch` sequences,
///             every one of `cols` channels by itself
enum class TokenKind : std::uint8_t { topk, rope, swiglu, quantize, conv1d };
struct TokenWise {
    TokenKind kind = TokenKind::swiglu;
    std::int64_t rows = 0;   ///< tokens; of conv1d those of one sequence
    std::int64_t cols = 0;   ///< elements of a token's result; of topk of its input
    std::int64_t width = 1;  ///< results per row of topk, or width of conv1d
    std::int64_t batch = 1;  ///< sequences of conv1d
    DataType type = DataType::bf16;
    DataType output = DataType::bf16;  ///< of quantize

    friend bool operator==(const TokenWise&, const TokenWise&) = default;
};

}  // namespace ridge::model
