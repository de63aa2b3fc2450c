// What PyTorch's scaled_dot_product_attention allocates, by backend.
//
// The rules come from the sources of PyTorch and were fitted to measurements: on an H200 with
// PyTorch 2.11 and CUDA 13.0 they reproduce torch.cuda.max_memory_allocated to the byte for two
// shapes and all four backends (eq. V6 to V9 of docs/model.md). All members but qkv count bytes
// above the level just before the call.
//
//   const auto outcome = sdpa_footprint(op, AttentionBackend::flash, TensorLayout::heads_first);
//   std::get<SdpaFootprint>(outcome).backward_peak
//
// Limits: requested bytes, rounded up to 512 only where PyTorch allocates single numbers; the
// caching allocator may hand out up to 1 MiB more per large tensor. Measured without mask, dropout
// and GQA, in 16 bits, for head_dim 64 and 128 and lengths that are multiples of 128; GQA and other
// lengths follow the sources of the flash backend and are not measured. Split keys (few heads and
// queries) add temporaries that are not counted. Other versions differ.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "hardware/quantity.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

enum class AttentionBackend : std::uint8_t { flash, memory_efficient, cudnn, math };

/// Which dimensions of q, k, v are contiguous: [batch, heads, seq, head_dim] or
/// [batch, seq, heads, head_dim] (transposed for the call).
enum class TensorLayout : std::uint8_t { heads_first, sequence_first };

struct SdpaFootprint {
    Bytes qkv;                     ///< the inputs
    Bytes inference_peak;          ///< forward without autograd
    Bytes training_forward_peak;   ///< forward with autograd
    Bytes training_forward_saved;  ///< what then stays, the output included
    Bytes backward_peak;           ///< above inputs, output, its gradient and what was saved
    Bytes backward_after;          ///< gradients less what backward released; may be negative
};

using SdpaOutcome = std::variant<SdpaFootprint, NotModelled>;

/// NotModelled where neither source nor measurement settles the rule: other than 16-bit types, a
/// head dimension that a backend pads, and masks or groups in the math backend.
[[nodiscard]] SdpaOutcome sdpa_footprint(const Attention& attention, AttentionBackend backend,
                                         TensorLayout layout = TensorLayout::heads_first);

[[nodiscard]] std::string_view name_of(AttentionBackend backend);
/// "flash", "efficient", "cudnn" or "math"; InputError names the field and the known words.
[[nodiscard]] AttentionBackend parse_attention_backend(std::string_view text);

}  // namespace ridge::model
