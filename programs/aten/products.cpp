// mm, addmm, bmm, linear, scaled and integer products, matrix-vector products.
#include <algorithm>
#include <array>

#include "model/core/fields.h"
#include "programs/aten/rules.h"
#include "programs/graph/eager_kernels.h"

namespace ridge::programs {
namespace {

using model::Layout;
using model::Matmul;

/// The layout of the last two dimensions: row-major unless the one before the last is contiguous.
Layout layout_of(const Tensor& tensor) {
    const std::size_t rank = tensor.dims.size();
    if (tensor.strides.empty() || rank < 2) return Layout::row_major;
    const bool column = tensor.strides[rank - 2] == 1 && tensor.strides[rank - 1] != 1;
    return column ? Layout::column_major : Layout::row_major;
}

Understood product(Matmul op) {
    op.accumulate = model::default_accumulator(op.type);
    op.output = model::default_output(op.type);
    const std::int64_t elements = op.batch * op.m * op.n;
    return {.steps = {step_of(op, model::Implementation::torch, model::L2State::cold)},
            .family = OperatorFamily::product,
            .result_bytes = elements * size_of(op.output),
            .result_elements = elements};
}

/// A[..., m, k] B[..., k, n] with the tensors at two positions.
std::optional<Understood> product_at(const Subject& subject, std::size_t a_place,
                                     std::size_t b_place) {
    const Tensor* const a = subject.call.tensor(a_place);
    const Tensor* const b = subject.call.tensor(b_place);
    if (a == nullptr || b == nullptr || a->dims.size() < 2 || b->dims.size() < 2) return {};
    const std::size_t rank = a->dims.size();
    Matmul op{.batch = 1,
              .m = a->dims[rank - 2],
              .n = b->dims.back(),
              .k = a->dims[rank - 1],
              .type = data_type(type_of(*a, subject))};
    for (std::size_t i = 0; i + 2 < rank; ++i) op.batch *= a->dims[i];
    op.a_layout = layout_of(*a);
    op.b_layout = layout_of(*b);
    return product(op);
}

std::optional<Understood> plain(const Subject& subject) {
    return product_at(subject, 0, 1);
}

/// C + A B: a vector is a bias in the epilogue, a matrix is read and added.
std::optional<Understood> added(const Subject& subject) {
    std::optional<Understood> found = product_at(subject, 1, 2);
    const Tensor* const c = subject.call.tensor(0);
    if (!found || c == nullptr) return found;
    auto& op = std::get<Matmul>(found->steps.front().operation);
    const bool vector = c->stored_elements() <= std::max(op.n, op.m);
    op.epilogue = vector ? model::Epilogue::bias : model::Epilogue::accumulate;
    return found;
}

/// x[..., k] W[n, k]^T.
std::optional<Understood> linear(const Subject& subject) {
    const Tensor* const x = subject.call.tensor(0);
    const Tensor* const w = subject.call.tensor(1);
    if (x == nullptr || w == nullptr || x->dims.empty() || w->dims.size() != 2) return {};
    Matmul op{.m = x->elements() / std::max<std::int64_t>(1, x->dims.back()),
              .n = w->dims[0],
              .k = w->dims[1],
              .type = data_type(type_of(*x, subject)),
              .b_layout = Layout::column_major};
    if (subject.call.tensor(2) != nullptr) op.epilogue = model::Epilogue::bias;
    return product(op);
}

/// A[m, k] x[k], and the dot product of two vectors.
std::optional<Understood> vector_at(const Subject& subject, std::size_t a_place) {
    const Tensor* const a = subject.call.tensor(a_place);
    if (a == nullptr || a->dims.empty()) return {};
    const std::int64_t m = a->dims.size() > 1 ? a->dims[0] : 1;
    return product({.m = m,
                    .n = 1,
                    .k = a->dims.back(),
                    .type = data_type(type_of(*a, subject)),
                    .a_layout = layout_of(*a)});
}
std::optional<Understood> matrix_vector(const Subject& subject) {
    return vector_at(subject, 0);
}
std::optional<Understood> added_matrix_vector(const Subject& subject) {
    return vector_at(subject, 1);
}

/// Whether the sizes of a result exceed what any GPU could hold.
bool overflows(std::int64_t a, std::int64_t b, std::int64_t c) {
    constexpr double most = 1e15;
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c) > most;
}

/// Rows in groups, each with its own matrix. The number of rows per group is only in the memory of
/// the third argument, so all groups are assumed equal. If both operands are matrices, the sum is
/// split and each group has a result: the gradient of the weights, as much work as the product that
/// it belongs to.
std::optional<Understood> grouped(const Subject& subject) {
    const Tensor* const a = subject.call.tensor(0);
    const Tensor* const b = subject.call.tensor(1);
    const Tensor* const ends = subject.call.tensor(2);
    if (a == nullptr || b == nullptr || ends == nullptr) return {};
    const bool gradient = b->dims.size() == 2;
    if (a->dims.size() != 2 || (!gradient && b->dims.size() != 3)) return {};
    const std::int64_t groups = ends->elements();
    const std::int64_t rows = gradient ? b->dims[0] : a->dims[0];
    const std::int64_t k = gradient ? a->dims[0] : a->dims[1];
    const std::int64_t n = b->dims.back();
    if (groups < 1 || rows < 1) return {};
    if (overflows(gradient ? groups : rows, gradient ? k : 1, n)) return {};
    const model::DataType type = data_type(type_of(*a, subject));
    const model::DataType output = model::default_output(type);
    Entry addresses = entry_of({.bytes = grouped_addresses(groups)}, "addresses of the groups");
    Entry product;
    product.operation = grouped_matmul(rows, n, k, groups, type, output);
    product.execution.l2 = model::L2State::cold;
    product.name = "grouped product";
    product.stretch = grouped_stretch();
    return carried_out({std::move(addresses), std::move(product)}, OperatorFamily::product,
                       gradient ? groups * k * n : rows * n, size_of(output));
}

constexpr std::array product_table{
    Rule{"mm", plain},          Rule{"bmm", plain},          Rule{"addmm", added},
    Rule{"baddbmm", added},     Rule{"linear", linear},      Rule{"_int_mm", plain},
    Rule{"_scaled_mm", plain},  Rule{"mv", matrix_vector},   Rule{"addmv", added_matrix_vector},
    Rule{"dot", matrix_vector}, Rule{"vdot", matrix_vector}, Rule{"_grouped_mm", grouped}};

}  // namespace

std::span<const Rule> product_rules() {
    return product_table;
}

}  // namespace ridge::programs
