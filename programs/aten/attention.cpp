// scaled_dot_product_attention with its backends, forward and backward.
#include <array>
#include <cstdlib>
#include <string>

#include "programs/aten/rules.h"
#include "programs/graph/eager_kernels.h"

namespace ridge::programs {
namespace {

using model::Implementation;

/// The positions of q, the causal flag and its kind in a call, and the order of the dimensions.
struct Places {
    std::size_t query;
    std::size_t causal;
    std::size_t dropout;  ///< position of the dropout probability
    bool tokens_first;    ///< [batch, tokens, heads, dim] instead of [batch, heads, tokens, dim]
    bool number;          ///< causal is a custom_mask_type above 0, not a flag
    Implementation implementation;
    model::Direction direction;
};

bool drops(const Call& call, std::size_t place) {
    const std::string text(call.value(place));
    return !text.empty() && std::strtod(text.c_str(), nullptr) > 0.0;
}

std::optional<Understood> attention_at(const Subject& subject, const Places& places) {
    const Tensor* const q = subject.call.tensor(places.query);
    const Tensor* const k = subject.call.tensor(places.query + 1);
    if (q == nullptr || k == nullptr || q->dims.size() != 4 || k->dims.size() != 4) return {};
    const std::size_t tokens = places.tokens_first ? 1 : 2;
    const std::size_t heads = places.tokens_first ? 2 : 1;
    model::Attention op{.batch = q->dims[0],
                        .heads = q->dims[heads],
                        .kv_heads = k->dims[heads],
                        .seq_q = q->dims[tokens],
                        .seq_kv = k->dims[tokens],
                        .head_dim = q->dims[3],
                        .type = data_type(type_of(*q, subject)),
                        .direction = places.direction};
    op.causal = places.number ? subject.call.whole(places.causal).value_or(0) > 0
                              : subject.call.flag(places.causal);
    // PyTorch aligns the mask to the first token: with more queries than keys it hides almost
    // nothing.
    op.causal = op.causal && op.seq_q <= op.seq_kv;
    if (op.kv_heads < 1 || op.heads % op.kv_heads != 0) return {};
    Understood found{.steps = {step_of(op, places.implementation, model::L2State::warm)},
                     .family = OperatorFamily::attention,
                     .result_bytes = q->bytes(),
                     .result_elements = q->elements()};
    if (drops(subject.call, places.dropout))
        found.beside = drawn_numbers(op, places.implementation);
    const Tensor* const mask = subject.call.tensor(places.query + 3);
    if (places.implementation == Implementation::torch_cudnn && mask != nullptr &&
        places.direction == model::Direction::forward && mask->elements() > 1) {
        Entry entry = entry_of(found.steps.front());
        entry.stretch = masked_attention_stretch(op.seq_q);
        found.entries = {std::move(entry)};
    }
    return found;
}

template <std::size_t query, std::size_t causal, std::size_t dropout, bool tokens_first,
          bool number, Implementation implementation, model::Direction direction>
std::optional<Understood> attention(const Subject& subject) {
    return attention_at(subject,
                        {query, causal, dropout, tokens_first, number, implementation, direction});
}

using enum Implementation;
constexpr auto forward = model::Direction::forward;
constexpr auto backward = model::Direction::backward;

// Positions as in PyTorch 2.11's native_functions.yaml.
constexpr std::array attention_table{
    Rule{"_scaled_dot_product_cudnn_attention",
         attention<0, 6, 5, false, false, torch_cudnn, forward>},
    Rule{"_cudnn_attention_forward", attention<0, 10, 9, false, false, torch_cudnn, forward>},
    Rule{"_scaled_dot_product_cudnn_attention_backward",
         attention<1, 14, 13, false, false, torch_cudnn, backward>},
    Rule{"_cudnn_attention_backward", attention<1, 14, 13, false, false, torch_cudnn, backward>},
    Rule{"_scaled_dot_product_flash_attention",
         attention<0, 4, 3, false, false, torch_flash, forward>},
    Rule{"_flash_attention_forward", attention<0, 8, 7, true, false, torch_flash, forward>},
    Rule{"_scaled_dot_product_flash_attention_backward",
         attention<1, 11, 10, false, false, torch_flash, backward>},
    Rule{"_flash_attention_backward", attention<1, 11, 10, true, false, torch_flash, backward>},
    Rule{"_scaled_dot_product_efficient_attention",
         attention<0, 6, 5, false, false, torch_efficient, forward>},
    Rule{"_efficient_attention_forward", attention<0, 9, 8, true, true, torch_efficient, forward>},
    Rule{"_scaled_dot_product_efficient_attention_backward",
         attention<1, 11, 9, false, false, torch_efficient, backward>},
    Rule{"_efficient_attention_backward",
         attention<1, 14, 11, true, true, torch_efficient, backward>},
    // A machine without a GPU records this name; a GPU runs the fused kernel.
    Rule{"_scaled_dot_product_flash_attention_for_cpu",
         attention<0, 4, 3, false, false, torch_flash, forward>},
    Rule{"_scaled_dot_product_flash_attention_for_cpu_backward",
         attention<1, 7, 6, false, false, torch_flash, backward>},
    Rule{"flash_attn::_flash_attn_forward", attention<0, 5, 3, true, false, torch_flash, forward>}};

}  // namespace

std::span<const Rule> attention_rules() {
    return attention_table;
}

}  // namespace ridge::programs
