// One kernel of a framework as plain data: what it computes, on how much data, and how it reads the
// data.
//
// The recorder of a program (recorder.h) collects kernels and counts equal ones together, and
// `operation_of` gives the operation of the model for each. A kernel that no operation describes
// (sorting 64 numbers, building a mask) is modelled as a pass over its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "model/core/data_type.h"
#include "model/core/recurrent.h"
#include "model/core/sparse.h"
#include "programs/graph/program.h"

namespace ridge::programs {

/// The function of an elementwise kernel; `fused` kernels read and write the given tensors.
enum class Math : std::uint8_t {
    copy,
    cast,
    fill,
    add,
    add_scalar,
    multiply,
    multiply_scalar,
    divide_scalar,
    negate,
    square,
    cube,
    reciprocal_root,
    silu,
    relu,
    gelu,
    gelu_tanh,
    tanh,
    sigmoid,
    cosine,
    masked_fill,
    dropout,
    silu_backward,
    gelu_backward,
    gelu_tanh_backward,
    tanh_backward,
    relu_backward,
    sigmoid_backward,
    silu_multiply,
    gelu_multiply,
    subtract
};
inline constexpr std::size_t math_count = 30;

/// How an elementwise kernel reads: in whole vectors; with an operand that is broadcast or has rows
/// apart (an index is computed for every element); or with a type conversion.
enum class Reading : std::uint8_t { vectors, indexed, converting };

enum class KernelKind : std::uint8_t {
    pointwise,     ///< a: elements; inputs
    row_mean,      ///< a: rows, b: columns
    row_sum,       ///< a: rows, b: columns
    column_sum,    ///< a: rows, b: columns
    softmax,       ///< a: rows, b: columns
    layer_norm,    ///< a: rows, b: columns
    rms_norm,      ///< a: rows, b: columns
    cat,           ///< a: elements of the result, b: of a contiguous piece, c: of the largest part
    gather,        ///< a: rows, b: columns, c: rows of the table
    table_sort,    ///< of the indices, for the gradient of a table: a to c as in gather
    table_sums,    ///< the gradient of the table of a gather: a to c as in gather
    product,       ///< a: m, b: n, c: k, d: batch
    transpose,     ///< a: rows, b: columns, d: batch
    attention,     ///< by AttentionShape
    experts,       ///< a grouped product: a: rows, b: n, c: k, d: experts
    optimizer,     ///< a: elements; inputs: tensors read and written
    collective,    ///< a: bytes, b: GPUs, c: model::CollectiveKind, d: 0 in its own stream
    expert_block,  ///< a: tokens, b: hidden, c: intermediate, d: experts; inputs: active experts
    log_softmax,   ///< a: rows, b: columns
    serving,       ///< of a serving engine, by its ServingOperation
    unmodelled,    ///< a: elements of the result
    small          ///< a: bytes; much less work than the launch takes
};

/// Layout of a product's operands: y = x W^T, dx = dy W, dW = dy^T x; or a convolution whose filters do
/// not overlap, as a product of patches. (W30)
enum class ProductForm : std::uint8_t { forward, input_gradient, weight_gradient, plain, patches };

/// An operation that serving engines have a kernel of their own for.
using ServingOperation = std::variant<model::Recurrence, model::SparseAttention, model::TokenWise>;

struct AttentionShape {
    std::int64_t batch = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::int64_t head_dim = 0;
    std::int64_t value_dim = 0;
    std::int64_t window = 0;
    bool causal = false;
    bool paged = false;
    bool backward = false;
    bool masked = false;  ///< with a mask tensor
    bool dropout = false;
    std::int64_t latent_dim =
        0;                      ///< of latent attention, whose head_dim is without the rotary part
    std::int64_t rope_dim = 0;  ///< of latent attention, when it decodes

    friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

struct StepKernel {
    KernelKind kind = KernelKind::small;
    Math math = Math::copy;
    Reading reading = Reading::vectors;
    model::DataType in = model::DataType::bf16;
    model::DataType out = model::DataType::bf16;
    std::int8_t inputs = 1;  ///< tensors read
    ProductForm form = ProductForm::forward;
    bool bias = false;
    bool gated = true;    ///< of an expert_block
    bool plain = false;   ///< of weights that keep the model's type in a quantised checkpoint
    bool inside = false;  ///< inside a layer, not before or after the layers
    Module module = Module::other;
    Pass pass = Pass::forward;
    std::int16_t launches = 1;
    Time least{};  ///< least time of a small kernel, per launch; 0: the default
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t c = 0;
    std::int64_t d = 1;
    std::int32_t attention = -1;  ///< index of the AttentionShape or ServingOperation
    std::string_view name{};      ///< a string literal

    friend bool operator==(const StepKernel&, const StepKernel&) = default;
};

}  // namespace ridge::programs
