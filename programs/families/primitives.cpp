#include "programs/families/primitives.h"

#include <algorithm>
#include <array>

namespace ridge::programs {
namespace {

constexpr std::array primitives{Primitive{"alloc", Op::alloc, "nt"},
                                Primitive{"alloc_cache", Op::alloc_cache, "n"},
                                Primitive{"alloc_like", Op::alloc_like, "vn"},
                                Primitive{"all_gathered", Op::all_gathered, "vn"},
                                Primitive{"all_reduce", Op::all_reduce, "nn"},
                                Primitive{"apart", Op::apart, "v"},
                                Primitive{"as_cache", Op::as_cache, "v"},
                                Primitive{"assembled", Op::assembled, "vvn"},
                                Primitive{"attend_chosen", Op::attend_chosen, "vnnnnn"},
                                Primitive{"attend", Op::attention, "vvvnnnnnnnn?nnn"},
                                Primitive{"batched", Op::batched, "vnnnnn"},
                                Primitive{"binary", Op::binary, "mvv"},
                                Primitive{"broadcast", Op::broadcast, "mvv?n"},
                                Primitive{"cast", Op::cast, "vt"},
                                Primitive{"cast_like", Op::cast_like, "vv"},
                                Primitive{"cat", Op::cat, "vvn"},
                                Primitive{"contiguous", Op::contiguous, "v"},
                                Primitive{"copy", Op::copy, "v"},
                                Primitive{"copy_elements", Op::copy_elements, "n"},
                                Primitive{"cross_entropy", Op::cross_entropy, "vnn"},
                                Primitive{"dropout", Op::dropout, "v"},
                                Primitive{"embedding", Op::embedding, "wnnn"},
                                Primitive{"enter_shards", Op::enter_shards, "vn"},
                                Primitive{"expert_block", Op::expert_block, "vnnnnnn"},
                                Primitive{"fused", Op::fused, "mvn"},
                                Primitive{"fused_norm", Op::fused_norm, "vn"},
                                Primitive{"gated_delta", Op::gated_delta, "vnnnnnn"},
                                Primitive{"gather_rows", Op::gather_rows, "vnnn"},
                                Primitive{"grouped", Op::grouped, "vwnnnn"},
                                Primitive{"heads", Op::heads, "vn"},
                                Primitive{"hold", Op::hold, "v"},
                                Primitive{"in_place", Op::in_place, "mv"},
                                Primitive{"kimi_delta", Op::kimi_delta, "vnnnnnn"},
                                Primitive{"index_keys", Op::index_keys, "vnnnn"},
                                Primitive{"laid", Op::laid, "nn"},
                                Primitive{"laid_like", Op::laid_like, "vn"},
                                Primitive{"layer_norm", Op::layer_norm, "vwn"},
                                Primitive{"linear", Op::linear, "vw?v"},
                                Primitive{"made", Op::made, "mnt"},
                                Primitive{"mamba2", Op::mamba2, "vnnnnnn"},
                                Primitive{"mean", Op::mean, "vn"},
                                Primitive{"merged", Op::merged, "mv?v"},
                                Primitive{"merged_indexed", Op::merged_indexed, "mv"},
                                Primitive{"merged_norm", Op::merged_norm, "vwnn"},
                                Primitive{"normalised", Op::normalised, "v"},
                                Primitive{"patches", Op::patches, "vw"},
                                Primitive{"picked", Op::picked, "vn"},
                                Primitive{"release", Op::release, "+"},
                                Primitive{"repeat", Op::repeat, "n"},
                                Primitive{"repeated", Op::repeated, "vn"},
                                Primitive{"see", Op::see, "vvvnnnnnn?n"},
                                Primitive{"slice", Op::slice, "vn"},
                                Primitive{"small", Op::small, "n?n"},
                                Primitive{"softmax", Op::softmax, "vn"},
                                Primitive{"sort", Op::sort, "n"},
                                Primitive{"split", Op::split, "v*"},
                                Primitive{"sum_of_rows", Op::sum_of_rows, "vnnn"},
                                Primitive{"together", Op::together, "v"},
                                Primitive{"transposed", Op::transposed, "vnn?v"},
                                Primitive{"unary", Op::unary, "mv"},
                                Primitive{"unmodelled", Op::unmodelled, "vn"},
                                Primitive{"with_gradient", Op::with_gradient, "vn"}};

/// In the order of Math in programs/software/kernel.h.
constexpr std::array<std::string_view, 30> functions{"copy",
                                                     "cast",
                                                     "fill",
                                                     "add",
                                                     "add_scalar",
                                                     "multiply",
                                                     "multiply_scalar",
                                                     "divide_scalar",
                                                     "negate",
                                                     "square",
                                                     "cube",
                                                     "reciprocal_root",
                                                     "silu",
                                                     "relu",
                                                     "gelu",
                                                     "gelu_tanh",
                                                     "tanh",
                                                     "sigmoid",
                                                     "cosine",
                                                     "masked_fill",
                                                     "dropout",
                                                     "silu_backward",
                                                     "gelu_backward",
                                                     "gelu_tanh_backward",
                                                     "tanh_backward",
                                                     "relu_backward",
                                                     "sigmoid_backward",
                                                     "silu_multiply",
                                                     "gelu_multiply",
                                                     "subtract"};
constexpr std::array<std::string_view, 4> types{"type", "cache_type", "fp32", "int8"};

template <std::size_t n>
std::int32_t place_of(const std::array<std::string_view, n>& words, std::string_view word) {
    const auto* const found = std::find(words.begin(), words.end(), word);
    return found == words.end() ? -1 : static_cast<std::int32_t>(found - words.begin());
}

}  // namespace

const Primitive* find_primitive(std::string_view name) {
    const auto* const found = std::find_if(primitives.begin(), primitives.end(),
                                           [&](const Primitive& p) { return p.name == name; });
    return found == primitives.end() ? nullptr : found;
}

std::int32_t find_math(std::string_view name) {
    return place_of(functions, name);
}

std::int32_t find_type(std::string_view name) {
    return place_of(types, name);
}

}  // namespace ridge::programs
