// The rules behind operations.h: each turns a call into operations, or returns nothing.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "programs/aten/operations.h"

namespace ridge::programs {

/// A call with the element type of its lists of tensors.
struct Subject {
    const Call& call;
    ElementType hint = ElementType::unknown;
};

using RuleFunction = std::optional<Understood> (*)(const Subject&);

struct Rule {
    std::string_view name;  ///< of the operator, without "aten::" and the '_' of in-place forms
    RuleFunction function;
};

[[nodiscard]] std::span<const Rule> product_rules();
[[nodiscard]] std::span<const Rule> convolution_rules();
[[nodiscard]] std::span<const Rule> image_rules();
[[nodiscard]] std::span<const Rule> attention_rules();
[[nodiscard]] std::span<const Rule> row_rules();
[[nodiscard]] std::span<const Rule> movement_rules();
[[nodiscard]] std::span<const Rule> recurrent_rules();

/// A recurrent layer of cuDNN as its laws see it.
struct RecurrentShape {
    std::int64_t steps = 0;  ///< that wait for each other, of all layers and directions
    double products = 0.0;   ///< multiply-adds of all steps
    bool held = false;       ///< one kernel keeps the weights for all steps
    bool aligned = false;    ///< rows of the state fill 16 bytes
    bool wide = false;       ///< fp32, which cuDNN multiplies as tf32
};
/// Empty for other operators.
[[nodiscard]] std::optional<RecurrentShape> recurrent_shape(const Subject& subject);

/// The operators that compute each element of the result from the same element of the inputs.
[[nodiscard]] bool is_pointwise(std::string_view name);
[[nodiscard]] std::optional<Understood> pointwise(std::string_view name, const Subject& subject);

/// `rows` of `cols` runs of `inner` elements in `from`; the runs are columns of rows in `to`.
struct Exchange {
    std::int64_t rows = 1;
    std::int64_t cols = 1;
    std::int64_t inner = 1;
};
[[nodiscard]] Exchange exchange_of(const Tensor& to, const Tensor& from);
/// Dimensions of the loop over tensors that are broadcast along one another, after neighbours that form one
/// dimension in all of them were joined; 0: all lie alike and without gaps.
[[nodiscard]] std::int64_t loop_dimensions(const std::vector<Tensor>& tensors);
/// Whether neighbours of that loop lie apart in one of the tensors.
[[nodiscard]] bool loop_lies_apart(const std::vector<Tensor>& tensors);
/// The tensor with its dimensions in the order in which `leader` has them in memory; `dim` is
/// mapped to the new order.
[[nodiscard]] Tensor in_order_of_memory(const Tensor& x, const Tensor& leader, std::int64_t& dim);

/// One kernel that streams `bytes`, half of them read and half written, and computes `expression`.
[[nodiscard]] std::optional<Understood> streamed(std::int64_t bytes, ElementType type,
                                                 model::Implementation implementation,
                                                 const char* expression = "x");
/// One streaming kernel that moves the bytes of all arguments.
[[nodiscard]] std::optional<Understood> by_bytes(const Subject& subject);
/// The same for a kernel of torch.compile, whose last scalar arguments are its numbers of elements.
[[nodiscard]] std::optional<Understood> generated(const Subject& subject);

/// What an instruction compiled by XLA is, "hlo traffic"; empty for other calls.
[[nodiscard]] std::optional<std::string_view> hlo_words(const Call& call);
[[nodiscard]] std::optional<Understood> compiled_by_xla(const Subject& subject,
                                                        std::string_view what);

/// A call that runs as these kernels, one after another.
[[nodiscard]] Understood carried_out(std::vector<Entry> entries, OperatorFamily family,
                                     std::int64_t elements, std::int64_t size);
[[nodiscard]] model::Step torch_step(model::Operation operation);
[[nodiscard]] model::Step step_of(model::Operation operation, model::Implementation implementation,
                                  model::L2State l2);
/// A launch that does the work of the step; callers change it where the real kernel differs.
[[nodiscard]] Entry entry_of(const model::Step& step);
/// The type of a tensor, or the hint if the type was not recorded.
[[nodiscard]] ElementType type_of(const Tensor& tensor, const Subject& subject);

}  // namespace ridge::programs
