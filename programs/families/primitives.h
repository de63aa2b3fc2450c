// The operations that procedures of family files and software rules are made of.
//
//   find_primitive("linear")->arguments      // "vw?v"
//
// Each stands for one call of a framework; programs/software/ says what it launches and allocates.
// Arguments: v a tensor (a local name, @name, a weight, or none), w a weight, n a number, m the
// function of an elementwise kernel, t a type (type, cache_type, fp32, int8), g an @name; what
// follows ? may be left out; * takes any number of n, + any number of v.
#pragma once

#include <cstdint>
#include <string_view>

namespace ridge::programs {

enum class Op : std::uint8_t {
    alloc,
    alloc_cache,
    alloc_like,
    all_gathered,
    all_reduce,
    apart,
    as_cache,
    assembled,
    attend_chosen,
    attention,
    batched,
    binary,
    broadcast,
    cast,
    cast_like,
    cat,
    contiguous,
    copy,
    copy_elements,
    cross_entropy,
    dropout,
    embedding,
    enter_shards,
    expert_block,
    fused,
    fused_norm,
    gated_delta,
    gather_rows,
    grouped,
    heads,
    hold,
    in_place,
    index_keys,
    laid,
    laid_like,
    kimi_delta,
    layer_norm,
    linear,
    made,
    mamba2,
    mean,
    merged,
    merged_indexed,
    merged_norm,
    normalised,
    patches,
    picked,
    release,
    repeat,
    repeated,
    see,
    slice,
    small,
    softmax,
    sort,
    split,
    split_group,
    sum_of_rows,
    together,
    transposed,
    unary,
    unmodelled,
    with_gradient
};

struct Primitive {
    std::string_view name;
    Op op;
    std::string_view arguments;
};

/// nullptr if there is none of that name.
[[nodiscard]] const Primitive* find_primitive(std::string_view name);
/// Number of the function or type of that name (programs/software/kernel.h), or -1.
[[nodiscard]] std::int32_t find_math(std::string_view name);
[[nodiscard]] std::int32_t find_type(std::string_view name);

enum class TypeWord : std::uint8_t { type, cache_type, fp32, int8 };

}  // namespace ridge::programs
