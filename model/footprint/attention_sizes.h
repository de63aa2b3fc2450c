// Bytes of attention's tensors, in the notation of docs/vram.md, shared by the plans.
#pragma once

#include <cstdint>

#include "model/allocator/memory_plan.h"
#include "model/footprint/attention_call.h"

namespace ridge::model {

/// Whether a forward pass keeps what a backward pass will need.
enum class Autograd : std::uint8_t { off, on };

struct AttentionBytes {
    explicit AttentionBytes(const AttentionCall& call);

    std::int64_t element;     ///< e, bytes of q's type
    std::int64_t query;       ///< elements of q, out, dq
    std::int64_t key;         ///< elements of k, v
    std::int64_t expanded;    ///< elements of k repeated for every query head
    std::int64_t rows;        ///< R = batch x heads x seq_q
    std::int64_t scores;      ///< P, elements
    std::int64_t mask;        ///< elements, 0 without one
    std::int64_t mask_bytes;  ///< of the input mask

    [[nodiscard]] std::int64_t statistics() const { return 4 * rows; }
};

/// Makes the mask of q's type into which PyTorch converts a boolean one. It is filled from two
/// scalars on the GPU, each of which is an allocation.
[[nodiscard]] MemoryPlan::Id convert_mask(MemoryPlan& plan, std::int64_t elements,
                                          std::int64_t element);

[[nodiscard]] constexpr bool is_grouped(const Attention& op) {
    return op.heads != op.kv_heads;
}

/// Whether a [batch, seq, heads, head_dim] tensor that is viewed as [batch, heads, seq, head_dim]
/// differs in memory from a contiguous one.
[[nodiscard]] constexpr bool is_transposed(const Attention& op, TensorLayout layout,
                                           std::int64_t seq) {
    return layout == TensorLayout::sequence_first && op.heads > 1 && seq > 1;
}

}  // namespace ridge::model
