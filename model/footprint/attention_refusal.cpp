// Checks of aten/src/ATen/native/transformers/cuda/sdp_utils.cpp (eq. V23 of docs/vram.md).
#include "model/footprint/attention_refusal.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace ridge::model {
namespace {

using Reason = std::optional<std::string>;

bool is_16_bit_float(DataType type) {
    return type == DataType::fp16 || type == DataType::bf16;
}

std::string_view torch_name(DataType type) {
    if (type == DataType::fp16) return "c10::Half";
    if (type == DataType::bf16) return "c10::BFloat16";
    return "float";
}

Reason wrong_type(const Attention& op) {
    if (is_16_bit_float(op.type)) return {};
    return fmt::format(
        "Expected query, key and value to all be of dtype: {{Half, BFloat16}}. Got Query dtype: "
        "{0}, Key dtype: {0}, and Value dtype: {0} instead.",
        torch_name(op.type));
}

Reason flash_reason(const AttentionCall& call) {
    const Attention& op = call.attention;
    if (call.mask != MaskKind::none) return "Flash Attention does not support non-null attn_mask.";
    if (op.head_dim > 256) {
        return fmt::format(
            "Flash attention requires q,k,v to have the same last dimension and to be less than or "
            "equal to 256. Got Query.size(-1): {0}, Key.size(-1): {0}, Value.size(-1): {0} "
            "instead.",
            op.head_dim);
    }
    if (op.causal && op.seq_q != op.seq_kv) {
        return fmt::format(
            "Flash attention does not support the is_causal flag when seqlen_q != seqlen_k. Got "
            "seqlen_q: {} seqlen_k: {}. If you would like to use causal attention with non-square "
            "masks, please see CausalAttnMask.",
            op.seq_q, op.seq_kv);
    }
    return wrong_type(op);
}

Reason efficient_reason(const AttentionCall& call) {
    const Attention& op = call.attention;
    const std::int64_t unit = is_16_bit_float(op.type) ? 8 : 4;
    if (op.head_dim % unit != 0) {
        return fmt::format(
            "Mem efficient attention requires last dimension of inputs to be divisible by {0}. Got "
            "Query.size(-1): {1}, Key.size(-1): {1}, Value.size(-1): {1} instead.",
            unit, op.head_dim);
    }
    if (op.heads != op.kv_heads) {
        return fmt::format(
            "For dense input, both fused kernels require query, key and value to have the same "
            "num_heads. Query.sizes(): [{0}, {1}, {2}, {3}], Key sizes(): [{0}, {4}, {5}, {3}], "
            "Value sizes(): [{0}, {4}, {5}, {3}] instead. To broadcast dense inputs, try using "
            "unsqueeze and expand_to before passing them into the kernel.",
            op.batch, op.heads, op.seq_q, op.head_dim, op.kv_heads, op.seq_kv);
    }
    return {};
}

Reason cudnn_reason(const AttentionCall& call) {
    const Attention& op = call.attention;
    if (Reason type = wrong_type(op)) return type;
    if (op.head_dim % 8 != 0) return "head_dim should be a multiple of 8";
    if (op.head_dim > 256) return "head_dim should be no more than 256";
    if (op.seq_q == 1 && call.dropout > 0.0) {
        return "cudnn SDPA does not support query sequence length 1 with dropout.";
    }
    if (op.seq_kv == 1) return "cudnn SDPA does not support key/value sequence length 1.";
    return {};
}

}  // namespace

std::optional<std::string> attention_refusal(const AttentionCall& call) {
    const Attention& op = call.attention;
    if (!is_torch(call.software)) return {};
    if (op.window > 0) return "scaled_dot_product_attention has no sliding window";
    if (!is_16_bit_float(op.type) && op.type != DataType::fp32) {
        return fmt::format("scaled_dot_product_attention takes fp16, bf16 and fp32, not {}",
                           name_of(op.type));
    }
    if (op.heads % op.kv_heads != 0) {
        return "Number of heads in key and value must divide the number of heads in query";
    }
    if (op.causal && call.mask != MaskKind::none) {
        return "Explicit attn_mask should not be set when is_causal=True";
    }
    switch (call.software) {
        case AttentionSoftware::torch_flash:
            return flash_reason(call);
        case AttentionSoftware::torch_efficient:
            return efficient_reason(call);
        case AttentionSoftware::torch_cudnn:
            return cudnn_reason(call);
        default:
            return {};
    }
}

}  // namespace ridge::model
