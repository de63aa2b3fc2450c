// One call of an attention implementation, described as far as its memory is concerned.
//
//   const AttentionCall call{.attention = op, .software = AttentionSoftware::torch_flash,
//                            .layout = TensorLayout::sequence_first};
#pragma once

#include <cstdint>
#include <string_view>

#include "model/core/operation.h"

namespace ridge::model {

/// Standard attention, the kernels of the FlashAttention papers, or a backend of PyTorch's
/// scaled_dot_product_attention.
enum class AttentionSoftware : std::uint8_t {
    standard,
    flash1,
    flash2,
    flash3,
    torch_flash,
    torch_efficient,
    torch_cudnn,
    torch_math
};

/// Which dimensions of q, k, v are contiguous: [batch, heads, seq, head_dim] or
/// [batch, seq, heads, head_dim] (transposed for the call).
enum class TensorLayout : std::uint8_t { heads_first, sequence_first };

/// An additive mask has the type of q, a boolean one a byte per element.
enum class MaskKind : std::uint8_t { none, additive, boolean };

/// The extents of a mask: [seq_q, seq_kv], [batch, 1, seq_q, seq_kv] or [batch, heads, seq_q,
/// seq_kv].
enum class MaskShape : std::uint8_t { matrix, batch, full };

struct AttentionCall {
    Attention attention;
    AttentionSoftware software = AttentionSoftware::standard;
    TensorLayout layout = TensorLayout::heads_first;
    double dropout = 0.0;
    MaskKind mask = MaskKind::none;
    MaskShape mask_shape = MaskShape::matrix;
    std::int64_t multiprocessors = 132;  ///< of the GPU; determines how keys are split
};

[[nodiscard]] constexpr bool is_torch(AttentionSoftware software) {
    return software >= AttentionSoftware::torch_flash;
}

[[nodiscard]] std::string_view name_of(AttentionSoftware software);
[[nodiscard]] std::string_view name_of(TensorLayout layout);
[[nodiscard]] std::string_view name_of(MaskKind mask);
[[nodiscard]] std::string_view name_of(MaskShape shape);

/// Parses "standard", "flash1", ..., "torch-math". An InputError names impl and the known words.
[[nodiscard]] AttentionSoftware parse_attention_software(std::string_view text);
/// Parses "bhnd" or "bnhd".
[[nodiscard]] TensorLayout parse_tensor_layout(std::string_view text);
/// Parses "none", "additive" or "boolean".
[[nodiscard]] MaskKind parse_mask_kind(std::string_view text);
/// Parses "matrix", "batch" or "full".
[[nodiscard]] MaskShape parse_mask_shape(std::string_view text);

}  // namespace ridge::model
